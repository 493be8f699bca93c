import type { RevenueType } from '../../analytics/figures/cohorts/question.ts'
import type { FactAccess } from '../../analytics/figures/open-source.ts'
import type { Environment } from '../../kernel/environment.ts'
import { type Attributed, type Entity, loadEntities } from './entities.ts'
import { type AdsFigures, type AdsFrame, type AdsSums, addSpend, addSums, emptySums, figuresOf, spendOf } from './figures.ts'
import { type PartialSource, partialSources } from './partial.ts'
import { knownDays, spendByEntity } from './read-spend.ts'
import { readTracked } from './read-tracked.ts'
import type { Level, ReadEntity } from './spend.ts'
import { closingEdges, type Days, type WindowCode, windowsOf } from './windows.ts'

export type ReportQuestion = {
  integration: number
  now: number
  days: Days
  level: Level
  currency: string
  revenue: RevenueType
  windows: readonly WindowCode[]
  countries: readonly string[] | null
  campaigns: readonly string[] | null
  statuses: readonly NonNullable<ReadEntity['status']>[] | null
  deliveries: readonly NonNullable<ReadEntity['delivery']>[] | null
  limit: number
  offset: number
}

type Identity = {
  campaign_id: string
  campaign_name: string | null
  ad_group_id: string | null
  ad_group_name: string | null
  keyword_id: string | null
  keyword: string | null
  match_type: ReadEntity['match_type']
  status: ReadEntity['status']
  delivery: ReadEntity['delivery']
}
export type Report = {
  rows: (Identity & AdsFigures)[]
  total: AdsFigures
  unallocated: AdsFigures
  totalRows: number
  partial: PartialSource[]
  behind: number
}

/**
 * What campaigns, ad groups or keywords cost beside what their users paid. An entity has a row where it has spend in the range, or users.
 * `total`: all rows, and the users whose entity is not known. A filter of status or delivery leaves these users out, one of campaigns those
 * whose campaign is not known.
 */
export async function appleAdsReport(access: FactAccess, environment: Environment, question: ReportQuestion): Promise<Report> {
  const { integration, level, days, now, currency, revenue, countries, campaigns, statuses, deliveries } = question
  const windows = windowsOf(question.windows, now)
  const { pool, scanning } = access
  const [known, spend, tracked] = await Promise.all([
    knownDays(pool, integration, days),
    spendByEntity(scanning, { integration, level, days, currency, countries, campaigns }, closingEdges(windows)),
    readTracked(access, environment, { days, now, windows, currency, revenue, countries }),
  ])
  const entities = await loadEntities(scanning, integration, level, {
    ids: [...new Set(spend.map(({ id }) => id))],
    attributed: [...tracked.users, ...tracked.trials, ...tracked.revenue].map(({ of }) => of),
  })
  const frame: AdsFrame = { windows, days, perUnit: tracked.perUnit, firstRead: known.keys().next().value ?? null }
  const isWanted = ({ status, delivery }: Entity) =>
    (statuses === null || (status !== null && statuses.includes(status))) &&
    (deliveries === null || (delivery !== null && deliveries.includes(delivery)))
  const sums = new Map<string, AdsSums>()
  const unallocated = emptySums(frame)
  const sumsFor = (entity: Entity) => sums.get(entity.id) ?? sums.set(entity.id, emptySums(frame)).get(entity.id)!
  for (const row of spend) {
    const entity = entities.find(level, row.id)
    if (entity && isWanted(entity)) addSpend(sumsFor(entity), row)
  }
  const isAllUnknown = statuses === null && deliveries === null
  const sumsOf = (attributed: Attributed): AdsSums | null => {
    const campaign = campaigns && entities.named('campaigns', attributed)
    if (campaigns && !(campaign && campaigns.includes(campaign.id))) return null
    const entity = entities.named(level, attributed)
    if (entity) return isWanted(entity) ? sumsFor(entity) : null
    return isAllUnknown ? unallocated : null
  }
  for (const { of: attributed, part, users, paying, payers } of tracked.users) {
    const own = sumsOf(attributed)
    if (!own) continue
    own.users += users
    own.paying += paying
    for (const [i, count] of payers.entries()) own.payers[part]![i]! += count
  }
  for (const { of: attributed, trials } of tracked.trials) {
    const own = sumsOf(attributed)
    if (own) own.trials += trials
  }
  for (const { of: attributed, part, age, revenue: paid } of tracked.revenue) {
    const own = sumsOf(attributed)
    if (own) own.revenue[part]![age]! += paid
  }
  const ordered = [...sums]
    .map(([id, own]) => ({ entity: entities.find(level, id)!, own, spend: spendOf(own, frame.firstRead !== null) }))
    .sort((a, b) => bySpend(a.spend, b.spend) || byIds(a.entity, b.entity))
  const total = emptySums(frame)
  for (const { own } of ordered) addSums(total, own)
  addSums(total, unallocated)
  const identityOf = (entity: Entity): Identity => ({
    campaign_id: entity.campaign_id,
    campaign_name: entities.find('campaigns', entity.campaign_id)?.name ?? null,
    ad_group_id: level === 'campaigns' ? null : entity.ad_group_id,
    ad_group_name: level === 'campaigns' ? null : (entities.find('groups', entity.ad_group_id ?? '')?.name ?? null),
    keyword_id: level === 'keywords' ? entity.id : null,
    keyword: level === 'keywords' ? entity.name : null,
    match_type: entity.match_type,
    status: entity.status,
    delivery: entity.delivery,
  })
  return {
    rows: ordered
      .slice(question.offset, question.offset + question.limit)
      .map(({ entity, own }) => ({ ...identityOf(entity), ...figuresOf(own, frame) })),
    total: figuresOf(total, frame),
    unallocated: figuresOf(unallocated, frame, false),
    totalRows: ordered.length,
    partial: partialSources(days, known, { now, unrated: spend.some(row => row.unrated) }),
    behind: tracked.behind,
  }
}

/** Most first, unknown last. */
const bySpend = (a: bigint | null, b: bigint | null): number => {
  if (a === b) return 0
  if (a === null || b === null) return a === null ? 1 : -1
  return a > b ? -1 : 1
}

/** Numbers of Apple: the shorter one is the smaller one. */
const compared = (a: string, b: string): number => a.length - b.length || (a < b ? -1 : a > b ? 1 : 0)
const byIds = (a: Entity, b: Entity): number =>
  compared(a.campaign_id, b.campaign_id) || compared(a.ad_group_id ?? '', b.ad_group_id ?? '') || compared(a.id, b.id)
