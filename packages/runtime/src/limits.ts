// How much is taken from others at all: from API servers, proxies and helper programs. What is longer is refused before it is read, and what is
// accepted costs time in proportion to its length. Times and retries stand where they are used.

const [KiB, MiB] = [1024, 1024 * 1024] as const;

/** Sizes in bytes and counts. */
export const runtimeLimits = {
  /** The head of an answer: status line and headers. */
  answerHeadBytes: 256 * KiB,
  /** One line of a head, of a chunk's beginning or of a trailer. */
  answerLineBytes: 16 * KiB,
  /** An event of a watch, a line of JSON or a frame of protobuf: far above the few MiB that an API server stores of an object. */
  watchEventBytes: 32 * MiB,
  /** The body of any other answer: a page of a list is the longest. */
  answerBodyBytes: 128 * MiB,
  /** The body of a refusal. */
  refusalBytes: 1 * MiB,
  /** Of the words in a refusal or a warning, what is looked at: a refused value can be as long as its author likes. */
  refusalWords: 10_000,
  /** A client's RSA key in a kubeconfig of others. A signature takes time with the third power of it: 40 ms with 8,192 bits, 300 ms with 16,384. */
  clientKeyBits: 8192,
  /** What a proxy answers to CONNECT. */
  proxyAnswerBytes: 64 * KiB,
  /** Somebody's bearer token: none is longer. */
  bearerToken: 16 * KiB,
  /** What a program for credentials prints. */
  execOutputBytes: 1 * MiB,
  /** What an OpenID server answers when a token is renewed. */
  tokenAnswerBytes: 1 * MiB,
  /** The operations of a JSON patch. Each may copy a list or an object of the document: more would cost quadratic time. */
  patchOperations: 1000,
  /** What the `copy` operations of a JSON patch may copy together: each can double the document. The API server's own library has such a limit. */
  patchCopiedBytes: 3 * MiB,
  /** The name of a member of a log line that may say that its value is a secret. */
  secretFieldName: 128,
  /** Levels and members of data in a log line. */
  loggedLevels: 8,
  loggedMembers: 2000,
} as const;
