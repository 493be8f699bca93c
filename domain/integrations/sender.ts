import type { Db } from '../../store/connect.ts'
import type { Environment } from '../kernel/environment.ts'
import type { Secrets } from '../projects/secrets.ts'
import { CONFIG_COLUMNS, type IntegrationConfig, openSettings } from './config.ts'

/** An integration that sends e-mail or pushes to a user. `settings`: with defaults, secrets in clear. */
export type Sender = { id: string; slug: string; settings: Record<string, unknown> }

type Deps = { db: Db; secrets: Secrets }

async function findSender(
  { db, secrets }: Deps,
  environment: Environment,
  name: string,
  condition: string,
  values: unknown[],
): Promise<Sender | null> {
  const { rows } = await db.query<IntegrationConfig>({
    name,
    text: `select ${CONFIG_COLUMNS} from integrations i where i.environment = $1 and i.deleted_at is null and ${condition} limit 1`,
    values: [environment, ...values],
  })
  const config = rows[0]
  if (!config) return null
  const { id, slug } = config
  return { id, slug, settings: openSettings({ secrets, environment, integration: id }, config) }
}

/** The oldest active `email` integration. */
export const mailSender = (deps: Deps, environment: Environment): Promise<Sender | null> =>
  findSender(deps, environment, 'mail-sender', `i.slug = 'email' and i.active = 1 order by i.created_at, i.id`, [])

/**
 * The integration that sends a push to the user: the one with the id `named`, unless it is paused. Without an id, the oldest active
 * `onesignal` of the user's last known platform, else the oldest active `firebase` with a service account key.
 */
export function pushSender(deps: Deps, environment: Environment, user: string, named: string | null): Promise<Sender | null> {
  if (named !== null) return findSender(deps, environment, 'push-sender-named', 'i.id = $2 and i.active <> 0', [named])
  return findSender(
    deps,
    environment,
    'push-sender',
    `i.active = 1 and (i.slug = 'onesignal' and i.target_platform = (select platform from users where environment = $1 and id = $2)
       or i.slug = 'firebase' and i.secrets ? 'service_account_key')
     order by i.slug = 'firebase', i.created_at, i.id`,
    [user],
  )
}
