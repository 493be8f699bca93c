/** `1` stands for any hexadecimal digit, `8` for one of 8 to b. */
const FORM = '11111111-1111-4111-8111-111111111111'

/**
 * Adds `randomUUID` where the browser has none: it has it over TLS and at localhost alone, and forms need it for their `Idempotency-Key`, also where
 * the service is called by the name of a machine over HTTP.
 */
export function addRandomUuid(crypto: Pick<Crypto, 'getRandomValues'> & { randomUUID?: Crypto['randomUUID'] }): void {
  if (crypto.randomUUID !== undefined) return
  const randomUUID = () => {
    const random = crypto.getRandomValues(new Uint8Array(FORM.length))
    const digit = (sign: string, at: number) => (sign === '8' ? 8 + (random[at]! & 3) : random[at]! & 15).toString(16)
    return FORM.replaceAll(/[18]/g, digit) as ReturnType<Crypto['randomUUID']>
  }
  Object.defineProperty(crypto, 'randomUUID', { value: randomUUID })
}
