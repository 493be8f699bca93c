import type { Secrets } from '../projects/seal.ts'
import type { ExportRow } from './export.ts'

type Signed = Pick<ExportRow, 'id' | 'expires_at'>

export const downloadSignature = (secrets: Secrets, { id, expires_at }: Signed): string => secrets.sign(`export:${id}:${expires_at}`)

/** The address under which a finished export is fetched, without any key, until it expires. */
export const downloadUrl = (secrets: Secrets, publicUrl: string, file: Signed): string =>
  `${publicUrl}/files/exports/${file.id}?signature=${downloadSignature(secrets, file)}`
