import { parseArgs } from 'node:util'
import { type Config, readConfig } from '../../app/config.ts'
import type { EnvironmentKind } from '../../domain/environment.ts'
import {
  failingLanes,
  inboxCounts,
  lastSweeps,
  lastTests,
  openAcknowledgements,
  raisedAlerts,
  setAsideNotifications,
} from '../../domain/store-inbox/status.ts'
import type { StorePlatform } from '../../domain/stores/config.ts'
import { openStore } from '../../domain/stores/settings.ts'
import { projectId, refuseMore } from '../arguments.ts'
import type { CliCommand } from '../command.ts'
import { textTable } from '../table.ts'
import { notificationTable, tellLineages } from './lineage.ts'
import { type OpenProject, withProject } from './open.ts'
import { alertHint, connectionOf, ENVIRONMENT_KINDS, pushAddress, STORE_NAME, STORE_PLATFORMS } from './words.ts'

/** At most this many rows of each list are shown. */
const SHOWN = 50

type Place = { platform: StorePlatform; environment: EnvironmentKind | null }
type Out = (line: string) => void

const HEADERS = ['store', 'environment', 'connection', 'last push', 'last test', 'last sweep', 'pending', 'oldest', 'set aside']

/** A row for each store that is set up or has told something. Gives the stores. */
async function tellStores({ pool, secrets, project }: OpenProject, out: Out): Promise<StorePlatform[]> {
  const [counts, sweeps, tests] = [await inboxCounts(pool, project), await lastSweeps(pool, project), await lastTests(pool, project)]
  const at = <Row extends Place>(rows: Row[], platform: StorePlatform, kind: EnvironmentKind | null) =>
    rows.find(row => row.platform === platform && row.environment === kind)
  const known: StorePlatform[] = []
  const rows: string[][] = []
  for (const platform of STORE_PLATFORMS) {
    const store = await openStore(pool, secrets, project, platform)
    if (store === null && !counts.some(row => row.platform === platform)) continue
    known.push(platform)
    const isSeen = (kind: EnvironmentKind | null) => kind !== null || [...counts, ...tests].some(row => at([row], platform, null))
    for (const kind of [...ENVIRONMENT_KINDS, null].filter(isSeen)) {
      const [count, sweep] = [at(counts, platform, kind), at(sweeps, platform, kind)]
      rows.push([
        platform,
        kind ?? 'not known yet',
        kind === null ? '-' : connectionOf(platform, store, kind),
        count?.lastPushAt ?? '-',
        at(tests, platform, kind)?.at ?? '-',
        sweep === undefined ? '-' : `${sweep.at}${sweep.failure === null ? '' : `, failing since: ${sweep.failure}`}`,
        String(count?.pending ?? 0),
        count?.oldestPendingAt ?? '-',
        String(count?.setAside ?? 0),
      ])
    }
  }
  if (rows.length === 0) out('No store is set up: docs/stores.md tells what to enter where.')
  else for (const line of textTable(HEADERS, rows, ['pending', 'set aside'])) out(line)
  return known
}

/** A heading with its rows, and a word on rows that are not shown. */
function tellList(heading: string, rows: unknown[], lines: string[], out: Out): void {
  if (rows.length === 0) return
  out('')
  out(heading)
  for (const line of lines) out(`  ${line}`)
  if (rows.length === SHOWN) out(`  only ${SHOWN} are shown`)
}

async function tellAlerts({ pool, project }: OpenProject, out: Out): Promise<void> {
  const alerts = await raisedAlerts(pool, project, SHOWN)
  const rows = alerts.map(({ alert, platform, environment, about, lineage, firstAt, lastAt }) => [
    alert,
    platform,
    environment ?? 'both',
    lineage === null ? '-' : String(lineage),
    about === '' ? '-' : about,
    firstAt,
    lastAt,
  ])
  const hints = [...new Set(alerts.map(({ alert }) => alert))].flatMap(alert => {
    const hint = alertHint(alert)
    return hint === null ? [] : [`${alert}: ${hint}`]
  })
  tellList(
    'Alerts',
    alerts,
    [...textTable(['alert', 'store', 'environment', 'lineage', 'about', 'since', 'last'], rows, ['lineage']), ...hints],
    out,
  )
}

async function tellLanes({ pool, project }: OpenProject, out: Out): Promise<void> {
  const lanes = await failingLanes(pool, project, SHOWN)
  const rows = lanes.map(({ lineage, name, platform, environment, attempts, since, reason }) => [
    lineage === null ? '-' : String(lineage),
    name,
    platform,
    environment ?? 'both',
    String(attempts),
    since,
    reason ?? '-',
  ])
  const headers = ['lineage', 'name', 'store', 'environment', 'attempts', 'since', 'reason']
  tellList('Lineages whose store gives no answer', lanes, textTable(headers, rows, ['lineage', 'attempts']), out)
}

async function tellProject(open: OpenProject, config: Config, out: Out): Promise<void> {
  const { pool, project, name } = open
  out(`Project ${project} (${name})`)
  out('')
  const known = await tellStores(open, out)
  tellList(
    'Addresses to enter at the stores',
    known,
    known.map(platform => `${platform.padEnd(6)}  ${pushAddress(config, platform, project)}`),
    out,
  )
  await tellAlerts(open, out)
  const acknowledgements = await openAcknowledgements(pool, project)
  tellList(
    'Not acknowledged yet',
    acknowledgements,
    acknowledgements.map(
      ({ environment, count, oldestAt }) => `${count} purchases of ${STORE_NAME.google}, ${environment}, the oldest of ${oldestAt}`,
    ),
    out,
  )
  await tellLanes(open, out)
  const setAside = await setAsideNotifications(pool, project, SHOWN)
  tellList('Set aside ("stores replay" reads them again)', setAside, notificationTable(setAside), out)
}

/** Tells how the stores of a project are, or everything that is recorded of one lineage. */
export const storesStatus: CliCommand = async (args, { env, out }) => {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { lineage: { type: 'string' }, sandbox: { type: 'boolean' } },
  })
  const [given, ...rest] = positionals
  const project = projectId(given)
  refuseMore(rest)
  const config = readConfig(env)
  await withProject(config, project, open =>
    values.lineage === undefined
      ? tellProject(open, config, out)
      : tellLineages(open, values.sandbox ? 'sandbox' : null, values.lineage, out),
  )
  return 0
}
