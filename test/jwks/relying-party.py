# A relying party as its author would write it: one PyJWKClient, and a line with the token's subject, or why it was refused, for each token that is given.
import json
import ssl
import sys

import jwt

uri, authority, issuer, audience = sys.argv[1:]
# By default it does not look for a new key within 30 s of its last look; here it looks at once, so that no test waits.
client = jwt.PyJWKClient(uri, ssl_context=ssl.create_default_context(cafile=authority), cooldown_duration=0)
algorithms = ["RS256", "PS256", "ES256", "ES384", "EdDSA"]

for line in sys.stdin:
    token = line.strip()
    try:
        key = client.get_signing_key_from_jwt(token)
        claims = jwt.decode(token, key, algorithms=algorithms, issuer=issuer, audience=audience)
        answer = {"subject": claims["sub"]}
    except jwt.PyJWTError as error:
        answer = {"refused": f"{type(error).__name__}: {error}"}
    print(json.dumps(answer), flush=True)
