import { readFile } from 'node:fs/promises'

/** Apple Root CA G3 in DER, under which the App Store signs. SHA-256 63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179. */
export const appleRootCertificate = (): Promise<Buffer> => readFile(new URL('./apple-root-ca-g3.cer', import.meta.url))
