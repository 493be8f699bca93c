import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import { jsonOf, type VendorReply, type VendorRequest, vendor } from '../vendor.ts'

export type AdsDay = { spend: string; impressions: number; taps: number; installs: number }
export type AdsEntity = {
  level: 'campaign' | 'ad_group' | 'keyword'
  id: number
  name: string
  campaign: number
  /** Of the first organisation unless given. */
  org?: number
  /** In reports only, as Apple keeps it. */
  deleted?: boolean
  group?: number
  status: string
  displayStatus: string
  matchType?: string
  bid?: string
  budget?: string
  /** By country and date. */
  days: Record<string, Record<string, AdsDay>>
}

/** Apple's Campaign Management API, version 5, and the address that gives tokens, on one server. */
export async function appleAdsServer() {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const ORG = 40669820
  const state = {
    orgs: [ORG],
    entities: [] as AdsEntity[],
    roles: ['API Campaign Manager'],
    currency: 'USD',
    pageSize: 1000,
    /** Replaces the answer to a request of the API. */
    instead: (_: VendorRequest): VendorReply | undefined | Promise<VendorReply | undefined> => undefined,
    token: { status: 200 } as { status: number },
    changes: [] as { path: string; body: unknown }[],
  }
  const TOKEN = 'apple-ads-token'

  const isSigned = (secret: string) => {
    const [head, claims, signature] = secret.split('.')
    const { sub, aud, iss } = JSON.parse(Buffer.from(claims!, 'base64url').toString())
    const { alg, kid } = JSON.parse(Buffer.from(head!, 'base64url').toString())
    const key = { key: createPublicKey(publicKey.export({ type: 'spki', format: 'pem' })), dsaEncoding: 'ieee-p1363' as const }
    return (
      verify('sha256', Buffer.from(`${head}.${claims}`), key, Buffer.from(signature!, 'base64url')) &&
      `${sub} ${aud} ${iss} ${alg} ${kid}` === 'SEARCHADS.client https://appleid.apple.com SEARCHADS.team ES256 key-1'
    )
  }

  const shown = (one: AdsEntity) => ({
    id: one.id,
    orgId: one.org ?? ORG,
    status: one.status,
    displayStatus: one.displayStatus,
    deleted: false,
    ...(one.level === 'keyword' ? { text: one.name, matchType: one.matchType, adGroupId: one.group } : { name: one.name }),
    ...(one.budget && { dailyBudgetAmount: { amount: one.budget, currency: state.currency } }),
    ...(one.bid && { [one.level === 'keyword' ? 'bidAmount' : 'defaultBidAmount']: { amount: one.bid, currency: state.currency } }),
  })
  let turns = 0
  /** Nobody who has not asked for an order gets the same one twice. */
  const ordered = <T>(all: T[], orderBy: { field: string }[] | undefined, field: string, idOf: (one: T) => number): T[] => {
    if (orderBy?.[0]?.field === field) return all.toSorted((a, b) => idOf(a) - idOf(b))
    const first = turns++ % Math.max(all.length, 1)
    return [...all.slice(first), ...all.slice(0, first)]
  }
  const paged = (all: unknown[], offset: number) => {
    const data = all.slice(offset, offset + state.pageSize)
    return { data, pagination: { totalResults: all.length, startIndex: offset, itemsPerPage: data.length }, error: null }
  }
  const metadata = (one: AdsEntity, countryOrRegion: string) => {
    const common = { campaignId: one.campaign, countryOrRegion, deleted: one.deleted === true }
    if (one.level === 'campaign') return { ...common, campaignName: one.name, campaignStatus: one.status, displayStatus: one.displayStatus }
    if (one.level === 'ad_group')
      return { ...common, adGroupId: one.id, adGroupName: one.name, adGroupStatus: one.status, adGroupDisplayStatus: one.displayStatus }
    return { ...common, adGroupId: one.group, keywordId: one.id, keyword: one.name, keywordStatus: one.status, matchType: one.matchType }
  }
  function report(level: AdsEntity['level'], campaign: number | null, org: number, request: VendorRequest) {
    const { startTime, endTime, selector, timeZone, granularity, groupBy } = jsonOf(request)
    if (timeZone !== 'UTC' || granularity !== 'DAILY' || groupBy?.[0] !== 'countryOrRegion') return { status: 400, body: {} }
    const rows = state.entities
      .filter(one => (one.org ?? ORG) === org && one.level === level && (campaign === null || one.campaign === campaign))
      .flatMap(one =>
        Object.entries(one.days).flatMap(([country, days]) => {
          const inRange = Object.entries(days).filter(([date]) => date >= startTime && date <= endTime)
          if (inRange.length === 0) return []
          const one_ = inRange.map(([date, { spend, impressions, taps, installs }]) => ({
            date,
            impressions,
            taps,
            totalInstalls: installs,
            localSpend: { amount: spend, currency: state.currency },
          }))
          return [{ other: false, metadata: metadata(one, country), granularity: one_, id: one.id }]
        }),
      )
    const field = { campaign: 'campaignId', ad_group: 'adGroupId', keyword: 'keywordId' }[level]
    const { data, ...rest } = paged(
      ordered(rows, selector.orderBy, field, ({ id }) => id),
      selector.pagination.offset,
    )
    return { status: 200, body: { data: { reportingDataResponse: { row: data } }, ...rest } }
  }

  const server = await vendor(async request => {
    const { method, path, query } = request
    if (path === '/auth/oauth2/token') {
      const given = new URLSearchParams(request.body.toString())
      if (state.token.status !== 200 || !isSigned(given.get('client_secret')!)) return { status: 400, body: { error: 'invalid_client' } }
      return { status: 200, body: { access_token: TOKEN, token_type: 'Bearer', expires_in: 3600 } }
    }
    const replaced = await state.instead(request)
    if (replaced) return replaced
    if (request.headers.authorization !== `Bearer ${TOKEN}`) return { status: 401, body: {} }
    if (path === '/api/v5/acls')
      return {
        status: 200,
        body: {
          data: state.orgs.map(orgId => ({
            orgId,
            orgName: 'Example',
            currency: state.currency,
            timeZone: 'America/New_York',
            roleNames: state.roles,
          })),
        },
      }
    const org = Number(String(request.headers['x-ap-context']).replace('orgId=', ''))
    if (!state.orgs.includes(org)) return { status: 403, body: {} }
    const reported = /^\/api\/v5\/reports\/campaigns(?:\/(\d+)\/(adgroups|keywords))?$/.exec(path)
    if (reported)
      return report(
        reported[2] === 'adgroups' ? 'ad_group' : reported[2] ? 'keyword' : 'campaign',
        reported[1] ? Number(reported[1]) : null,
        org,
        request,
      )
    const listed = /^\/api\/v5\/campaigns(?:\/(\d+)\/adgroups(\/targetingkeywords)?)?(\/find)?$/.exec(path)
    if (listed && method !== 'PUT') {
      const [, campaign, keywords, isFind] = listed
      const level = keywords ? 'keyword' : campaign ? 'ad_group' : 'campaign'
      const ofOrg = state.entities.filter(one => (one.org ?? ORG) === org && !one.deleted)
      if (campaign && !ofOrg.some(one => one.level === 'campaign' && one.id === Number(campaign)))
        return { status: 404, body: { error: { errors: [{ message: 'campaign not found' }] } } }
      const found = ofOrg.filter(one => one.level === level && (!campaign || one.campaign === Number(campaign)))
      const { orderBy, pagination } = isFind
        ? jsonOf(request)
        : { orderBy: undefined, pagination: { offset: Number(query.get('offset') ?? 0) } }
      return {
        status: 200,
        body: paged(ordered(found, orderBy, 'id', ({ id }) => id).map(shown), pagination.offset),
      }
    }
    const ids = path.split('/').filter(part => /^\d+$/.test(part))
    const isBulk = path.endsWith('/bulk')
    const change = method === 'PUT' ? jsonOf(request) : null
    const id = isBulk ? change[0].id : Number(ids.at(-1))
    const one = state.entities.find(each => each.id === id)
    if (!one) return { status: 404, body: { error: { errors: [{ message: 'not found' }] } } }
    if (change) {
      state.changes.push({ path, body: change })
      const fields = isBulk ? change[0] : one.level === 'campaign' ? change.campaign : change
      if (fields.status) one.status = fields.status
      if (fields.dailyBudgetAmount) one.budget = fields.dailyBudgetAmount.amount
      if (fields.bidAmount ?? fields.defaultBidAmount) one.bid = (fields.bidAmount ?? fields.defaultBidAmount).amount
    }
    return { status: 200, body: { data: isBulk ? [shown(one)] : shown(one), pagination: null, error: null } }
  })
  const settings = {
    client_id: 'SEARCHADS.client',
    team_id: 'SEARCHADS.team',
    key_id: 'key-1',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    base_url: server.url,
  }
  return { ...server, state, settings, org: String(ORG) }
}
export type AppleAdsServer = Awaited<ReturnType<typeof appleAdsServer>>
