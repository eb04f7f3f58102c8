// The whole body of a response, for answers that are read in one piece.

/** Reads `body` to its end; `received` hears of each chunk's length. */
export async function readBody(body: AsyncIterable<Uint8Array>, received: (count: number) => void): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) {
    received(chunk.length);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
