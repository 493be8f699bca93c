import type { Config } from '../../app/config.ts'
import type { EnvironmentKind } from '../../domain/kernel/environment.ts'
import { recentRefusals } from '../../domain/purchases/attempts/recent.ts'
import {
  failingQueues,
  inboxCounts,
  lastSweeps,
  lastTests,
  openAcknowledgements,
  raisedAlerts,
  setAsideNotifications,
} from '../../domain/purchases/store-inbox/status.ts'
import type { StorePlatform } from '../../domain/purchases/stores/config.ts'
import { openStore } from '../../domain/purchases/stores/settings.ts'
import type { OpenProject } from './open.ts'
import { alertHint, connectionOf, ENVIRONMENT_KINDS, pushAddress, STORE_PLATFORMS } from './words.ts'

/** At most this many rows of each list are shown. */
export const SHOWN_ROWS = 50

type StoreRow = {
  store: StorePlatform
  /** Null: what has arrived, but does not say of which environment it is. */
  environment: EnvironmentKind | null
  connection: string | null
  last_push_at: string | null
  last_test_at: string | null
  last_sweep_at: string | null
  sweep_failure: string | null
  pending: number
  oldest_pending_at: string | null
  set_aside: number
}

/** A row for each environment of each store that is set up or has reported something. */
async function readStores({ pool, secrets, project }: OpenProject): Promise<StoreRow[]> {
  const [counts, sweeps, tests] = [await inboxCounts(pool, project), await lastSweeps(pool, project), await lastTests(pool, project)]
  type Where = { platform: StorePlatform; environment: EnvironmentKind | null }
  const at = <Row extends Where>(rows: Row[], platform: StorePlatform, kind: EnvironmentKind | null) =>
    rows.find(row => row.platform === platform && row.environment === kind)
  const rows: StoreRow[] = []
  for (const platform of STORE_PLATFORMS) {
    const store = await openStore(pool, secrets, project, platform)
    if (store === null && !counts.some(row => row.platform === platform)) continue
    const isSeen = (kind: EnvironmentKind | null) => kind !== null || [...counts, ...tests].some(row => at([row], platform, null))
    for (const kind of [...ENVIRONMENT_KINDS, null].filter(isSeen)) {
      const [count, sweep] = [at(counts, platform, kind), at(sweeps, platform, kind)]
      rows.push({
        store: platform,
        environment: kind,
        connection: kind === null ? null : connectionOf(platform, store, kind),
        last_push_at: count?.lastPushAt ?? null,
        last_test_at: at(tests, platform, kind)?.at ?? null,
        last_sweep_at: sweep?.at ?? null,
        sweep_failure: sweep?.failure ?? null,
        pending: count?.pending ?? 0,
        oldest_pending_at: count?.oldestPendingAt ?? null,
        set_aside: count?.setAside ?? 0,
      })
    }
  }
  return rows
}

export type ProjectStatus = Awaited<ReturnType<typeof readStatus>>

/** How the stores of a project are. */
export async function readStatus(open: OpenProject, config: Config) {
  const { pool, project, name } = open
  const stores = await readStores(open)
  return {
    project,
    name,
    stores,
    addresses: [...new Set(stores.map(({ store }) => store))].map(store => ({ store, address: pushAddress(config, store, project) })),
    alerts: (await raisedAlerts(pool, project, SHOWN_ROWS)).map(one => ({ ...one, hint: alertHint(one.alert) })),
    refusals: await recentRefusals(pool, project),
    acknowledgements: await openAcknowledgements(pool, project),
    failing: await failingQueues(pool, project, SHOWN_ROWS),
    setAside: await setAsideNotifications(pool, project, SHOWN_ROWS),
  }
}
