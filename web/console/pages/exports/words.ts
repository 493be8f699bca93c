import type { Export } from '../../../../clients/typescript/src/index.ts'
import { moment } from '../../parts/format.ts'
import { t } from '../../parts/t.ts'
import { TYPES } from '../reports/words.ts'

const STATUSES: Record<string, string> = {
  new: 'Waits for a worker',
  processing: 'Under way',
  done: 'Done',
  failed: 'Failed',
  cancelled: 'Cancelled',
}
const statusText = ({ status, expires_at, file_url }: Export) =>
  status === 'done' && expires_at !== null && file_url === null ? t('Expired') : t(STATUSES[status] ?? status)
export const chipOf = (one: Export): { status: string; label: string } => {
  const label = statusText(one)
  if (one.status === 'new') return { status: 'pending', label }
  return one.status === 'done' && one.file_url === null ? { status: 'expired', label } : { status: one.status, label }
}
export const isUnfinished = ({ status }: Pick<Export, 'status'>) => status === 'new' || status === 'processing'

export const typeText = ({ type }: Pick<Export, 'type'>) => t(TYPES[type])
export const fileText = ({ format, compression }: Pick<Export, 'format' | 'compression'>) =>
  compression === 'gzip' ? `${format}, gzip` : format

const NO_WINDOW: readonly Export['type'][] = ['purchases_state', 'subscriptions', 'entitlements']
export const hasWindow = (type: Export['type']) => !NO_WINDOW.includes(type)

/** Which rows, in the zone of the operator. */
export function windowText(one: Export, zone: string): string {
  if (one.updated_from !== null) return t('changed since {time}', { time: minute(one.updated_from, zone) })
  if (!hasWindow(one.type)) return t('as they stand')
  return `${minute(one.from_timestamp, zone)} – ${minute(one.to_timestamp, zone)}`
}
const minute = (at: string, zone: string) => moment(at, zone).replace(/:00$/, '')

/** Fetches the file and checks it against the manifest. */
export function checkCommand({ id, format, compression, file_url }: Export, sha256: string): string {
  const name = `${id}.${format}${compression === 'gzip' ? '.gz' : ''}`
  return `curl -o ${name} '${file_url}' && echo '${sha256}  ${name}' | sha256sum --check`
}
