import type { Level, ReadEntity, ReadSpend } from '../../domain/integrations/apple-ads/spend.ts'
import { type AdsAnswer, type AppleRequest, unexpected } from './client.ts'

/** Asks Apple; throws `AppleFailed` for everything but data. */
export type Ask = (request: AppleRequest) => Promise<Extract<AdsAnswer, { is: 'data' }>>

/** Apple gave no data. */
export class AppleFailed extends Error {
  readonly answer: Exclude<AdsAnswer, { is: 'data' }>
  constructor(answer: Exclude<AdsAnswer, { is: 'data' }>) {
    super(answer.why)
    this.answer = answer
  }
}

type Item = Record<string, unknown>
const PAGE = 1000
/** Apple takes ranges of at most 90 days; fewer keep an answer small. */
const CHUNK_DAYS = 30
const DAY_MS = 86_400_000

const isItem = (value: unknown): value is Item => typeof value === 'object' && value !== null
const idOf = (value: unknown): string | null => (typeof value === 'number' || typeof value === 'string' ? String(value) : null)
const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)

/** What is not in its place is unknown: read as nothing, it would delete spend that is known. */
export const missing = (what: string) => new AppleFailed(unexpected(`without ${what}`))

/** `what`: for the message. */
export function items(value: unknown, what: string): Item[] {
  if (!Array.isArray(value) || !value.every(isItem)) throw missing(what)
  return value
}

function countOf(value: unknown, what: string): number {
  if (value === null || value === undefined) return 0
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) throw missing(what)
  return value
}

/** All pages of a list. `page` gives the request of the page that begins there. */
async function allPages(
  ask: Ask,
  page: (offset: number) => AppleRequest,
  itemsOf = (data: unknown) => items(data, 'a list'),
): Promise<Item[]> {
  const all: Item[] = []
  for (;;) {
    const { data, total } = await ask(page(all.length))
    const more = itemsOf(data)
    all.push(...more)
    if (more.length === 0 || (total === null ? more.length < PAGE : all.length >= total)) return all
  }
}

/** `word`: ENABLED, PAUSED, or ACTIVE of a keyword. */
export function entityStatusOf(word: unknown, isDeleted: unknown): ReadEntity['status'] {
  if (isDeleted === true) return 'removed'
  return word === 'ENABLED' || word === 'ACTIVE' ? 'enabled' : word === 'PAUSED' ? 'paused' : null
}

/** Of displayStatus or servingStatus. */
function deliveryOf(word: unknown): ReadEntity['delivery'] {
  if (word === 'RUNNING') return 'running'
  if (word === 'ON_HOLD' || word === 'CAMPAIGN_ON_HOLD' || word === 'AD_GROUP_ON_HOLD') return 'on_hold'
  return typeof word === 'string' ? 'not_running' : null
}

const matchOf = (word: unknown): ReadEntity['match_type'] => (word === 'EXACT' ? 'exact' : word === 'BROAD' ? 'broad' : null)

/** The campaigns, ad groups and keywords that there are. */
export async function listEntities(ask: Ask, org: string, level: Level, campaign: string | null): Promise<ReadEntity[]> {
  const found =
    level === 'keywords'
      ? await allPages(ask, offset => ({
          method: 'POST',
          path: `/campaigns/${campaign}/adgroups/targetingkeywords/find`,
          org,
          body: { pagination: { offset, limit: PAGE }, orderBy: [{ field: 'id', sortOrder: 'ASCENDING' }] },
        }))
      : await allPages(ask, offset => ({
          method: 'GET',
          path: `${level === 'campaigns' ? '/campaigns' : `/campaigns/${campaign}/adgroups`}?limit=${PAGE}&offset=${offset}`,
          org,
        }))
  return found.map(one => {
    const id = idOf(one.id)
    if (id === null) throw missing('the id of an entity')
    return {
      id,
      campaign_id: level === 'campaigns' ? id : campaign!,
      ad_group_id: level === 'campaigns' ? null : level === 'groups' ? id : idOf(one.adGroupId),
      org_id: org,
      name: textOf(level === 'keywords' ? one.text : one.name) ?? id,
      match_type: matchOf(one.matchType),
      status: entityStatusOf(one.status, one.deleted),
      delivery: deliveryOf(one.displayStatus ?? one.servingStatus),
    }
  })
}

export type AdsReportRequest = { org: string; level: Level; campaign: string | null; from: string; through: string }

/** The spend of every day, country and entity, in UTC; with the entities that the report names, removed ones among them. */
export async function readReport(
  ask: Ask,
  { org, level, campaign, from, through }: AdsReportRequest,
): Promise<{ entities: ReadEntity[]; spend: ReadSpend[] }> {
  const path =
    level === 'campaigns' ? '/reports/campaigns' : `/reports/campaigns/${campaign}/${level === 'groups' ? 'adgroups' : 'keywords'}`
  const entities = new Map<string, ReadEntity>()
  const spend: ReadSpend[] = []
  for (const [startTime, endTime] of chunks(from, through)) {
    const rows = await allPages(
      ask,
      offset => ({
        method: 'POST',
        path,
        org,
        body: {
          startTime,
          endTime,
          timeZone: 'UTC',
          granularity: 'DAILY',
          groupBy: ['countryOrRegion'],
          selector: { orderBy: [{ field: 'localSpend', sortOrder: 'DESCENDING' }], pagination: { offset, limit: PAGE } },
          returnRecordsWithNoMetrics: false,
          returnRowTotals: false,
          returnGrandTotals: false,
        },
      }),
      data => items(isItem(data) && isItem(data.reportingDataResponse) ? data.reportingDataResponse.row : null, 'the rows of a report'),
    )
    for (const row of rows) {
      const { metadata } = row
      if (!isItem(metadata)) throw missing('what a row is of')
      const entity = entityIn(metadata, org, level, campaign)
      // What is too little for a row of its own is of no entity.
      if (!entity && row.other === true) continue
      if (!entity) throw missing('the id of a row')
      entities.set(entity.id, entity)
      const country = textOf(metadata.countryOrRegion) ?? ''
      spend.push(...items(row.granularity, 'the days of a row').flatMap(day => spendIn(day, entity, country)))
    }
  }
  return { entities: [...entities.values()], spend }
}

function chunks(from: string, through: string): [string, string][] {
  const dateOf = (ms: number) => new Date(ms).toISOString().slice(0, 10)
  const all: [string, string][] = []
  for (let start = Date.parse(from); start <= Date.parse(through); start += CHUNK_DAYS * DAY_MS)
    all.push([dateOf(start), dateOf(Math.min(Date.parse(through), start + (CHUNK_DAYS - 1) * DAY_MS))])
  return all
}

function entityIn(of: Item, org: string, level: Level, campaign: string | null): ReadEntity | null {
  const campaignId = idOf(of.campaignId) ?? campaign
  const [id, name, status, delivery] =
    level === 'campaigns'
      ? [idOf(of.campaignId), of.campaignName, of.campaignStatus, of.displayStatus ?? of.servingStatus]
      : level === 'groups'
        ? [idOf(of.adGroupId), of.adGroupName, of.adGroupStatus, of.adGroupDisplayStatus ?? of.adGroupServingStatus]
        : [idOf(of.keywordId), of.keyword, of.keywordStatus, of.keywordDisplayStatus]
  if (id === null || campaignId === null) return null
  return {
    id,
    campaign_id: campaignId,
    ad_group_id: level === 'campaigns' ? null : idOf(of.adGroupId),
    org_id: org,
    name: textOf(name) ?? id,
    match_type: matchOf(of.matchType),
    status: entityStatusOf(status, of.deleted),
    delivery: deliveryOf(delivery),
  }
}

const AMOUNT = /^\d{1,15}(\.\d{1,10})?$/
const CURRENCY = /^[A-Z]{3}$/
const DATE = /^\d{4}-\d\d-\d\d/

/** Nothing where nothing happened on the day. */
function spendIn(day: Item, { id, campaign_id }: ReadEntity, country: string): ReadSpend[] {
  const [impressions, taps] = [countOf(day.impressions, 'impressions'), countOf(day.taps, 'taps')]
  // Version 5 counts installs after a view, too; version 4 had only one number.
  const installs = countOf(day.totalInstalls ?? day.installs, 'installs')
  const date = textOf(day.date)
  if (date === null || !DATE.test(date)) throw missing('the date of a day')
  if (!isItem(day.localSpend) && impressions + taps + installs === 0) return []
  const { amount, currency } = isItem(day.localSpend) ? day.localSpend : {}
  const spend = idOf(amount)
  if (spend === null || !AMOUNT.test(spend)) throw missing('an amount of spend')
  if (typeof currency !== 'string' || !CURRENCY.test(currency)) throw missing('the currency of spend')
  if (Number(spend) === 0 && impressions + taps + installs === 0) return []
  return [{ id, campaign_id, date: date.slice(0, 10), country, currency, spend, impressions, taps, installs }]
}
