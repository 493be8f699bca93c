import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'

/** Apple Root CA G3, under which the App Store signs. SHA-256 63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179. */
const SHIPPED = new URL('./apple-root-ca-g3.cer', import.meta.url)
const PEM = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g

function certificatesIn(file: string | URL, bytes: Buffer): Buffer[] {
  const pems = bytes.toString('latin1').match(PEM)
  try {
    return (pems ?? [bytes]).map(certificate => new X509Certificate(certificate).raw)
  } catch {
    throw new Error(`${file} has no certificate in DER or PEM`)
  }
}

/**
 * The roots (DER) that Apple's signatures are verified under: those of the given files (DER, or PEM with one or more certificates), else the
 * shipped one. Throws for a file that cannot be read or has no certificate.
 */
export async function appleRootCertificates(files: readonly string[] = []): Promise<Buffer[]> {
  const sources = files.length > 0 ? files : [SHIPPED]
  const found = await Promise.all(sources.map(async file => certificatesIn(file, await readFile(file))))
  return found.flat()
}
