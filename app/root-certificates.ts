import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'

const PEM = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g

/**
 * The certificates of the files, each in DER, or one or more in PEM; as DER. `paths`: separated by commas. `refuse`: throws the line for the
 * operator.
 */
export function rootCertificates(paths: string, refuse: (line: string) => never): Buffer[] {
  const names = paths.split(',').map(path => path.trim())
  return names.flatMap(path => (path === '' ? refuse('names an empty path') : certificatesIn(path, refuse)))
}

function certificatesIn(path: string, refuse: (line: string) => never): Buffer[] {
  try {
    const content = readFileSync(path)
    const inPem = content.toString('latin1').match(PEM)
    return (inPem ?? [content]).map(one => new X509Certificate(one).raw)
  } catch (error) {
    const { code = '', syscall } = error as NodeJS.ErrnoException
    return refuse(syscall ? `${path} cannot be read (${code})` : `${path} is no certificate in DER or PEM`)
  }
}
