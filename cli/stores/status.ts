import { readConfig } from '../../app/config.ts'
import { PROJECT, projectId } from '../arguments.ts'
import type { CommandContext } from '../command.ts'
import { action, JSON_OPTION } from '../definition.ts'
import { jsonText, textTable } from '../table.ts'
import { notificationTable, printLineages, readLineages } from './lineage.ts'
import { withProject } from './open.ts'
import { type ProjectStatus, readStatus, SHOWN_ROWS } from './read-status.ts'
import { snakeCase } from './snake-case.ts'
import { LINEAGE_ARGUMENT, STORE_NAME } from './words.ts'

type Out = CommandContext['out']

const HEADERS = ['store', 'environment', 'connection', 'last push', 'last test', 'last sweep', 'pending', 'oldest', 'set aside']

function printStores({ stores }: ProjectStatus, out: Out): void {
  const rows = stores.map(row => [
    row.store,
    row.environment ?? 'not known yet',
    row.connection ?? '-',
    row.last_push_at ?? '-',
    row.last_test_at ?? '-',
    row.last_sweep_at === null ? '-' : `${row.last_sweep_at}${row.sweep_failure === null ? '' : `, failing since: ${row.sweep_failure}`}`,
    String(row.pending),
    row.oldest_pending_at ?? '-',
    String(row.set_aside),
  ])
  if (stores.length === 0) out('No store is set up: docs/stores.md tells what to enter where.')
  else for (const line of textTable(HEADERS, rows, ['pending', 'set aside'])) out(line)
}

/** A heading with its rows, and a word on rows that are not shown. */
function printList(heading: string, rows: unknown[], lines: string[], out: Out): void {
  if (rows.length === 0) return
  out('')
  out(heading)
  for (const line of lines) out(`  ${line}`)
  if (rows.length === SHOWN_ROWS) out(`  only ${SHOWN_ROWS} are shown`)
}

function printAlerts({ alerts }: ProjectStatus, out: Out): void {
  const rows = alerts.map(({ alert, platform, environment, about, lineage, firstAt, lastAt }) => [
    alert,
    platform,
    environment ?? 'both',
    lineage === null ? '-' : String(lineage),
    about === '' ? '-' : about,
    firstAt,
    lastAt,
  ])
  const hints = new Set(alerts.flatMap(({ alert, hint }) => (hint === null ? [] : [`${alert}: ${hint}`])))
  const headers = ['alert', 'store', 'environment', 'lineage', 'about', 'since', 'last']
  printList('Alerts', alerts, [...textTable(headers, rows, ['lineage']), ...hints], out)
}

function printRefusals({ refusals }: ProjectStatus, out: Out): void {
  if (refusals.length === 0) return
  const rows = refusals.map(({ platform, environment, reason, count, users, lastAt }) => [
    platform ?? '-',
    environment,
    reason,
    String(count),
    String(users),
    lastAt,
  ])
  out('')
  out('Refused purchases of the last 24 hours')
  for (const line of textTable(['store', 'environment', 'reason', 'claims', 'users', 'last'], rows, ['claims', 'users'])) out(`  ${line}`)
}

function printFailing({ failing }: ProjectStatus, out: Out): void {
  const rows = failing.map(({ lineage, name, platform, environment, attempts, since, reason }) => [
    lineage === null ? '-' : String(lineage),
    name,
    platform,
    environment ?? 'both',
    String(attempts),
    since,
    reason ?? '-',
  ])
  const headers = ['lineage', 'name', 'store', 'environment', 'attempts', 'since', 'reason']
  printList('Lineages whose store gives no answer', failing, textTable(headers, rows, ['lineage', 'attempts']), out)
}

function printStatus(status: ProjectStatus, out: Out): void {
  const { project, name, addresses, acknowledgements, setAside } = status
  out(`Project ${project} (${name})`)
  out('')
  printStores(status, out)
  const entered = addresses.map(({ store, address }) => `${store.padEnd(6)}  ${address}`)
  printList('Addresses to enter at the stores', addresses, entered, out)
  printAlerts(status, out)
  printRefusals(status, out)
  const waiting = acknowledgements.map(
    ({ environment, count, oldestAt }) => `${count} purchases of ${STORE_NAME.google}, ${environment}, the oldest of ${oldestAt}`,
  )
  printList('Not acknowledged yet', acknowledgements, waiting, out)
  printFailing(status, out)
  printList('Set aside ("stores replay" reads them again)', setAside, notificationTable(setAside), out)
}

export const storesStatus = action({
  name: 'status',
  summary: 'what the stores have told and what hinders it, or everything about one lineage',
  arguments: [PROJECT],
  options: {
    lineage: { value: 'LINEAGE', says: `owner, periods, statements and notifications of a lineage: ${LINEAGE_ARGUMENT.says}` },
    sandbox: { says: 'only a lineage of the sandbox' },
    ...JSON_OPTION,
  },
  details: `Each store: connected or what is missing, the address to enter, last push and sweep, what is pending, set aside or not acknowledged, alerts
and what to do about them, and the refused purchases of the last 24 hours by reason.`,
  examples: ['stores status 1', 'stores status 1 --lineage 2000000123456789', 'stores status 1 --json'],
  async run({ args: [given], values: { lineage, sandbox, json } }, { env, signal, out }) {
    const project = projectId(given)
    const config = readConfig(env)
    await withProject({ env, signal }, project, async open => {
      const kind = sandbox ? 'sandbox' : null
      if (lineage === undefined) {
        const status = await readStatus(open, config)
        if (json) out(jsonText(snakeCase(status)))
        else printStatus(status, out)
      } else if (json) out(jsonText(snakeCase(await readLineages(open, kind, lineage))))
      else printLineages(lineage, await readLineages(open, kind, lineage), out)
    })
    return 0
  },
})
