import type { Db } from '../../store/connect.ts'
import type { Environment } from '../environment.ts'
import type { Secrets } from '../projects/seal.ts'

type Row = { settings: Record<string, unknown>; secrets: Record<string, string>; former: string | null }

/** Every setting of the integration that is set, its secrets in clear. */
export async function openTarget(db: Db, secrets: Secrets, environment: Environment, id: string): Promise<Record<string, unknown>> {
  const { rows } = await db.query<Row>({
    name: 'report-target',
    text: `select settings, secrets, case when signing_secret_changed_at > clock_timestamp() - interval '24 hours' then former_signing_secret end as former
           from integrations where environment = $1 and id = $2`,
    values: [environment, id],
  })
  const row = rows[0]!
  const open = (name: string, sealed: string) => secrets.open(Buffer.from(sealed, 'base64'), `integration:${environment}:${id}:${name}`)
  const opened = Object.entries(row.secrets).map(([name, sealed]) => [name, open(name, sealed)])
  const former = row.former === null ? {} : { former_signing_secret: open('signing_secret', row.former) }
  return { ...row.settings, ...Object.fromEntries(opened), ...former }
}
