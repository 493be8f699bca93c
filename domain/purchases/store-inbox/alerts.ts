import type { Db } from '../../../store/connect.ts'
import type { Environment } from '../../kernel/environment.ts'
import type { StorePlatform } from '../stores/config.ts'

/** A condition that an operator should look at. The words are those of docs/stores.md. */
export type StoreAlert = {
  project: number
  platform: StorePlatform
  /** Null: of both environments. */
  environment: Environment | null
  alert: string
  /** A name of the store's; empty: none. */
  about: string
}

/** The store does not accept the project's credentials. Apple and Google have the same for both environments. */
export const refusedCredentials = (project: number, platform: StorePlatform, environment: Environment | null): StoreAlert => ({
  project,
  platform,
  environment: platform === 'apple' || platform === 'google' ? null : environment,
  alert: 'store_credentials',
  about: '',
})

/** Writes alerts, in the order of their keys. A repeat moves only the time at which the alert was last raised. */
export async function raiseAlerts(db: Db, alerts: readonly StoreAlert[]): Promise<void> {
  if (alerts.length === 0) return
  await db.query({
    name: 'raise-store-alerts',
    text: `insert into store_alerts (project, platform, environment, alert, about)
           select distinct project, platform, coalesce(environment, 0), alert, about
           from unnest($1::int[], $2::text[], $3::int[], $4::text[], $5::text[]) a(project, platform, environment, alert, about) order by 1, 2, 3, 4, 5
           on conflict (project, platform, environment, alert, about) do update set last_at = clock_timestamp()`,
    values: [
      alerts.map(({ project }) => project),
      alerts.map(({ platform }) => platform),
      alerts.map(({ environment }) => environment),
      alerts.map(({ alert }) => alert),
      alerts.map(({ about }) => about),
    ],
  })
}

/** Ends the alert: its condition has passed. */
export async function endAlert(db: Db, { project, platform, environment, alert }: Omit<StoreAlert, 'about'>): Promise<void> {
  await db.query({
    name: 'end-store-alert',
    text: 'delete from store_alerts where project = $1 and platform = $2 and environment = coalesce($3, 0) and alert = $4',
    values: [project, platform, environment, alert],
  })
}
