import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CERTIFICATE, CERTIFICATE_KEY } from './certificate.ts'

type Setting = [name: string, value: string]

/** Where a server listens, without TLS. */
export const plainSettings = (port: number): Setting[] => [['port', String(port)]]

/**
 * Of a server or sentinel that listens with TLS alone, and speaks nothing else to its replicas, to the other nodes of its cluster and to the
 * servers that it watches. The certificate is its own authority. `folder`: for the files.
 */
export async function tlsSettings(folder: string, port: number): Promise<Setting[]> {
  const [certificate, key] = [join(folder, 'certificate.pem'), join(folder, 'key.pem')]
  await Promise.all([writeFile(certificate, CERTIFICATE), writeFile(key, CERTIFICATE_KEY)])
  return [
    ['port', '0'],
    ['tls-port', String(port)],
    ['tls-cert-file', certificate],
    ['tls-key-file', key],
    ['tls-ca-cert-file', certificate],
    ['tls-auth-clients', 'no'],
    ['tls-replication', 'yes'],
    ['tls-cluster', 'yes'],
  ]
}

/** Variables of a service that reaches such servers. `folder`: for the file. */
export async function tlsAuthority(folder: string): Promise<{ REDIS_TLS: string; REDIS_CA_FILE: string }> {
  const REDIS_CA_FILE = join(folder, 'authority.pem')
  await writeFile(REDIS_CA_FILE, CERTIFICATE)
  return { REDIS_TLS: 'true', REDIS_CA_FILE }
}

export const asArguments = (settings: Setting[]): string[] => settings.flatMap(([name, value]) => [`--${name}`, value])
