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

/** What the pages of one list come to. `add` returns how many items a page has; `isFull`: it is more than may be held at a time. */
type Collecting<T> = { add(data: unknown): number; isFull(): boolean; isRepeated?(): boolean; all: T }

const TRIES = 4
/** Of one list: a list that never ends must not be read for ever. */
const MOST_PAGES = 500

/**
 * All pages of a list in the order of the ids; null: it is too long. Begins again where the list grows or shrinks meanwhile or shows an item
 * twice: its pages have moved, so another item may be on none.
 */
async function allPages<T>(ask: Ask, page: (offset: number) => AppleRequest, collect: () => Collecting<T>): Promise<T | null> {
  for (let attempt = 1; ; attempt++) {
    const collecting = collect()
    const end = await addPages(ask, page, collecting)
    if (end === 'full') return null
    const isRepeated = collecting.isRepeated?.() === true
    if (end === 'whole' && !isRepeated) return collecting.all
    if (attempt === TRIES) throw new AppleFailed(unexpected('a list that changes while it is read'))
  }
}

async function addPages<T>(
  ask: Ask,
  page: (offset: number) => AppleRequest,
  { add, isFull }: Collecting<T>,
): Promise<'whole' | 'moved' | 'full'> {
  let length: number | null | undefined
  let read = 0
  for (let pages = 1; ; pages++) {
    const { data, total } = await ask(page(read))
    if (length !== undefined && total !== length) return 'moved'
    length = total
    const more = add(data)
    read += more
    if (isFull() || pages > MOST_PAGES) return 'full'
    if (total === null ? more < PAGE : read >= total) return 'whole'
    if (more === 0) throw missing('a page of a list')
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

/** Entities of one list. */
const MOST_ENTITIES = 200_000

/** The campaigns, ad groups and keywords that there are. */
export async function listEntities(ask: Ask, org: string, level: Level, campaign: string | null): Promise<ReadEntity[]> {
  const below = { campaigns: '', groups: `/${campaign}/adgroups`, keywords: `/${campaign}/adgroups/targetingkeywords` }[level]
  const entityOf = (one: Item): ReadEntity => {
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
  }
  const found = await allPages(
    ask,
    offset => ({
      method: 'POST',
      path: `/campaigns${below}/find`,
      org,
      body: { pagination: { offset, limit: PAGE }, orderBy: [{ field: 'id', sortOrder: 'ASCENDING' }] },
    }),
    () => {
      const all = new Map<string, ReadEntity>()
      let read = 0
      const add = (data: unknown) => {
        const page = items(data, 'a list')
        for (const one of page.map(entityOf)) all.set(one.id, one)
        read += page.length
        return page.length
      }
      return { add, isFull: () => all.size > MOST_ENTITIES, isRepeated: () => all.size < read, all }
    },
  )
  if (!found) throw new AppleFailed({ is: 'refused', why: `there are more than ${MOST_ENTITIES} ${level}` })
  return [...found.values()]
}

export type AdsReportRequest = { org: string; level: Level; campaign: string | null; from: string; through: string }
/** Of some days: all spend of them, and the entities that the report names, removed ones among them. */
export type ReadReport = { from: string; through: string; entities: ReadEntity[]; spend: ReadSpend[] }

/** Rows of spend that are held at a time. */
const MOST_SPEND = 100_000

/** The spend of every day, country and entity, in UTC, a part of the days after the other. */
export async function* readReport(ask: Ask, request: AdsReportRequest): AsyncGenerator<ReadReport, undefined> {
  const open = chunks(request.from, request.through, CHUNK_DAYS)
  for (let days = open.shift(); days; days = open.shift()) {
    const [from, through] = days
    const read = await readDays(ask, { ...request, from, through })
    if (read) yield read
    else if (from === through) throw new AppleFailed({ is: 'refused', why: `${from} has more than ${MOST_SPEND} rows of spend` })
    else open.unshift(...chunks(from, through, Math.ceil(daysIn(from, through) / 2)))
  }
}

const ID_FIELDS = { campaigns: 'campaignId', groups: 'adGroupId', keywords: 'keywordId' } as const

/** Null: it is too much for one answer. */
async function readDays(ask: Ask, { org, level, campaign, from, through }: AdsReportRequest): Promise<ReadReport | null> {
  const below = { campaigns: '', groups: `/${campaign}/adgroups`, keywords: `/${campaign}/keywords` }[level]
  const read = await allPages(
    ask,
    offset => ({
      method: 'POST',
      path: `/reports/campaigns${below}`,
      org,
      body: {
        startTime: from,
        endTime: through,
        timeZone: 'UTC',
        granularity: 'DAILY',
        groupBy: ['countryOrRegion'],
        selector: { orderBy: [{ field: ID_FIELDS[level], sortOrder: 'ASCENDING' }], pagination: { offset, limit: PAGE } },
        returnRecordsWithNoMetrics: false,
        returnRowTotals: false,
        returnGrandTotals: false,
      },
    }),
    () => {
      const entities = new Map<string, ReadEntity>()
      const spend = new Map<string, ReadSpend>()
      let isRepeated = false
      const add = (data: unknown) => {
        const rows = items(
          isItem(data) && isItem(data.reportingDataResponse) ? data.reportingDataResponse.row : null,
          'the rows of a report',
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
          for (const one of items(row.granularity, 'the days of a row').flatMap(day => spendIn(day, entity, country))) {
            if (one.date < from || one.date > through) throw missing('the days that were asked for')
            const key = `${one.id} ${country} ${one.date}`
            isRepeated ||= spend.has(key)
            spend.set(key, one)
          }
        }
        return rows.length
      }
      return { add, isFull: () => spend.size > MOST_SPEND, isRepeated: () => isRepeated, all: { entities, spend } }
    },
  )
  return read && { from, through, entities: [...read.entities.values()], spend: [...read.spend.values()] }
}

const daysIn = (from: string, through: string) => (Date.parse(through) - Date.parse(from)) / DAY_MS + 1

/** The days in parts of so many. */
function chunks(from: string, through: string, days: number): [string, string][] {
  const dateOf = (ms: number) => new Date(ms).toISOString().slice(0, 10)
  const all: [string, string][] = []
  for (let start = Date.parse(from); start <= Date.parse(through); start += days * DAY_MS)
    all.push([dateOf(start), dateOf(Math.min(Date.parse(through), start + (days - 1) * DAY_MS))])
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
  const isSilent = impressions + taps + installs === 0
  if (isSilent && (day.localSpend === null || day.localSpend === undefined)) return []
  const { amount, currency } = isItem(day.localSpend) ? day.localSpend : {}
  const spend = idOf(amount)
  if (spend === null || !AMOUNT.test(spend)) throw missing('an amount of spend')
  if (typeof currency !== 'string' || !CURRENCY.test(currency)) throw missing('the currency of spend')
  if (isSilent && Number(spend) === 0) return []
  return [{ id, campaign_id, date: date.slice(0, 10), country, currency, spend, impressions, taps, installs }]
}
