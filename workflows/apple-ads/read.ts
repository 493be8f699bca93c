import {
  type AppleOrg,
  hasNewOrg,
  openByNumber,
  type ReadFailure,
  recordOrgs,
  recordRead,
  recordReadFailure,
} from '../../domain/integrations/apple-ads/connection.ts'
import { APPLE_ADS_WORKFLOW, readLater } from '../../domain/integrations/apple-ads/read-runs.ts'
import { type Level, markRemoved, planRead, type ReadPlan, replaceSpend } from '../../domain/integrations/apple-ads/spend.ts'
import type { Secrets } from '../../domain/projects/secrets.ts'
import type { Pool } from '../../store/connect.ts'
import { transaction } from '../../store/transaction.ts'
import { messageOf, RetryAt } from '../engine/policy.ts'
import type { RunContext, StepScope, Workflow } from '../engine/workflow.ts'
import type { AppleAds } from './client.ts'
import { credentialsOf } from './credentials.ts'
import { AppleFailed, type Ask, items, listEntities, missing, readReport } from './reports.ts'

export type AppleAdsDeps = { pool: Pool; secrets: Secrets; appleAds: AppleAds }

/** A campaign with many keywords takes some pages of a second each. */
const LIMIT_MS = 120_000
/** After an attempt of a step has failed for the last time. */
const AFTER_FAILURE_SECONDS = 3600

/** What Apple does not give these credentials. No repeat changes that: the operator must. */
type Failed = { is: 'failed'; kind: ReadFailure; why: string }
type Begun = Failed | { is: 'gone' } | ({ is: 'plan'; orgs: AppleOrg[]; hasNewOrg?: boolean } & ReadPlan)

/**
 * Reads what campaigns cost: the organisations, then each one's campaigns, then each campaign's ad groups and keywords. The days count as
 * read when all of that is stored. Every end creates the next run in its transaction, so reading never stops by itself.
 */
export const readAppleAds = (deps: AppleAdsDeps): Workflow => ({
  kind: APPLE_ADS_WORKFLOW.workflow,
  version: APPLE_ADS_WORKFLOW.version,
  concurrency: 4,

  async run(context) {
    const { environment, subject, together } = context
    const number = Number(subject)
    const plan = await asked<Begun>(deps, context, 'organisations', ask => begin(deps, number, ask), {
      record: async (tx, begun) => {
        if (begun.is === 'plan' && !begun.hasNewOrg) await recordOrgs(tx, number, begun.orgs)
      },
    })
    if (plan.is === 'gone') return
    const failed = plan.is === 'failed' ? plan : await readOrgs(deps, context, number, plan)
    await together(
      steps =>
        steps.transact('end', async tx => {
          const waitSeconds = plan.is === 'plan' ? plan.waitSeconds : (await planRead(tx, number)).waitSeconds
          if (failed) await recordReadFailure(tx, number, failed.kind, failed.why)
          else if (plan.is === 'plan') {
            if (plan.hasNewOrg) await recordOrgs(tx, number, plan.orgs)
            await recordRead(tx, number, plan)
          }
          await readLater(tx, environment, subject, waitSeconds)
        }),
      { ends: true },
    )
  },

  async failed(tx, environment, subject, error) {
    await recordReadFailure(tx, Number(subject), 'unavailable', messageOf(error, 'reading Apple Ads'))
    await readLater(tx, environment, subject, AFTER_FAILURE_SECONDS)
  },
})

async function begin({ pool, secrets }: AppleAdsDeps, number: number, ask: Ask): Promise<Begun> {
  const opened = await openByNumber(pool, secrets, number)
  const credentials = opened && credentialsOf(opened.settings)
  // New settings create a run of their own.
  if (!credentials) return { is: 'gone' }
  const { data } = await ask({ method: 'GET', path: '/acls' })
  const orgs = orgsIn(data).filter(({ id }) => credentials.orgId === null || id === credentials.orgId)
  if (orgs.length === 0)
    return {
      is: 'failed',
      kind: 'permission',
      why:
        credentials.orgId === null
          ? 'the credentials open no organisation'
          : `the credentials do not open the organisation ${credentials.orgId}`,
    }
  const isGrown = await hasNewOrg(pool, number, orgs)
  return { is: 'plan', orgs, hasNewOrg: isGrown, ...(await planRead(pool, number, isGrown)) }
}

function orgsIn(data: unknown): AppleOrg[] {
  return items(data, 'the organisations').map(({ orgId, orgName, currency, timeZone, roleNames }) => {
    if (typeof orgId !== 'number' && typeof orgId !== 'string') throw missing('the id of an organisation')
    const roles = Array.isArray(roleNames) ? roleNames.filter(role => typeof role === 'string') : []
    return { id: String(orgId), name: String(orgName ?? orgId), currency: String(currency ?? ''), time_zone: String(timeZone ?? ''), roles }
  })
}

/** Reads each organisation, whatever becomes of the others. */
async function readOrgs(
  deps: AppleAdsDeps,
  context: RunContext,
  number: number,
  { orgs, from, through }: Extract<Begun, { is: 'plan' }>,
): Promise<Failed | null> {
  const failures: Failed[] = []
  for (const { id: org } of orgs) {
    failures.push(...(await readOrg(deps, context, number, { org, from, through })))
    if (isOfAll(failures.at(-1))) break
  }
  const first = failures.find(isOfAll) ?? failures[0]
  return first && failures.length > 1 ? { ...first, why: `${first.why} (and ${failures.length - 1} more failures)` } : (first ?? null)
}

const isOfAll = (failed: Failed | undefined): boolean => failed?.kind === 'credentials'

type Days = { org: string; from: string; through: string }
type Campaigns = { is: 'campaigns'; ids: string[]; removed?: string[] }

async function readOrg(deps: AppleAdsDeps, context: RunContext, number: number, days: Days): Promise<Failed[]> {
  const { org } = days
  const campaigns = await asked<Failed | Campaigns>(deps, context, `campaigns-${org}`, async ask => {
    const { campaigns: ids, removed } = await store(deps, number, { ...days, level: 'campaigns', campaign: null, isRemoved: false }, ask)
    return { is: 'campaigns', ids, removed }
  })
  if (campaigns.is === 'failed') return [campaigns]
  const failures: Failed[] = []
  for (const campaign of campaigns.ids) {
    const isRemoved = campaigns.removed?.includes(campaign) ?? false
    const read = await asked<Failed | { is: 'read' }>(deps, context, `campaign-${campaign}`, async ask => {
      await store(deps, number, { ...days, level: 'groups', campaign, isRemoved }, ask)
      await store(deps, number, { ...days, level: 'keywords', campaign, isRemoved }, ask)
      return { is: 'read' }
    })
    if (read.is !== 'failed') continue
    failures.push(read)
    // The whole organisation is not open.
    if (read.kind !== 'unavailable') break
  }
  return failures
}

/** `isRemoved`: the campaign is in reports only. */
type Stored = Days & { level: Level; campaign: string | null; isRemoved: boolean }

/** Reads one level and stores it, the days of each report in a transaction. Returns the campaigns, each once, and those that are removed. */
async function store(
  { pool }: AppleAdsDeps,
  number: number,
  request: Stored,
  ask: Ask,
): Promise<{ campaigns: string[]; removed: string[] }> {
  const { org, level, campaign, from } = request
  const listed = (await unlessGone(request, () => listEntities(ask, org, level, campaign))) ?? []
  const ids = new Set(listed.map(({ id }) => id))
  const isListed = (id: string) => ids.has(id)
  const campaigns = new Set([...listed.map(({ campaign_id }) => campaign_id), ...(campaign === null ? [] : [campaign])])
  await transaction(pool, tx => replaceSpend(tx, number, level, [], { entities: listed, spend: [] }))
  const removed = new Set(listed.flatMap(({ id, status }) => (status === 'removed' ? id : [])))
  const reported = new Set<string>()
  const reports = readReport(ask, request)
  for (;;) {
    const { value: report } = (await unlessGone(request, () => reports.next())) ?? {}
    if (!report) break
    const others = report.entities.filter(({ id }) => !isListed(id))
    for (const { id } of others) reported.add(id)
    // Of a campaign that is named now for the first time the days before have no spend.
    const late = [...new Set(report.entities.map(({ campaign_id }) => campaign_id))].filter(id => !campaigns.has(id))
    const ranges = [
      { campaigns: [...campaigns], from: report.from, through: report.through },
      { campaigns: late, from, through: report.through },
    ]
    await transaction(pool, tx => replaceSpend(tx, number, level, ranges, { entities: others, spend: report.spend }))
    for (const id of late) campaigns.add(id)
  }
  await transaction(pool, tx => markRemoved(tx, number, level, { org, campaign, ids: [...ids, ...reported] }))
  if (level === 'campaigns') for (const id of reported) removed.add(id)
  return { campaigns: [...campaigns].sort(), removed: [...removed].sort() }
}

/** Null where Apple does not know a campaign any more that was removed: nothing is below it. */
async function unlessGone<T>({ isRemoved }: Stored, read: () => Promise<T>): Promise<T | null> {
  try {
    return await read()
  } catch (error) {
    if (isRemoved && error instanceof AppleFailed && error.answer.is === 'absent') return null
    throw error
  }
}

type Recording<T> = { record?: (tx: Parameters<typeof recordOrgs>[0], result: T) => Promise<void> }

/** A step that asks Apple. Where Apple refuses the credentials, the step has the result `failed`; where Apple does not answer, it is repeated. */
function asked<T>(
  { pool, secrets, appleAds }: AppleAdsDeps,
  { step, subject }: RunContext,
  name: string,
  effect: (ask: Ask) => Promise<T>,
  { record }: Recording<T | Failed> = {},
): Promise<T | Failed> {
  const number = Number(subject)
  return step<T | Failed>(name, scope => refusedIsFailed(() => effect(asking(scope))), {
    policy: 'delivery',
    limitMs: LIMIT_MS,
    ...(record && { record }),
    failing: (tx, { error }) => recordReadFailure(tx, number, 'unavailable', messageOf(error, 'reading Apple Ads')),
  })

  function asking({ signal }: StepScope): Ask {
    let credentials: ReturnType<typeof credentialsOf> | undefined
    return async request => {
      if (credentials === undefined) {
        const opened = await openByNumber(pool, secrets, number)
        credentials = opened && credentialsOf(opened.settings)
      }
      if (!credentials) throw new AppleFailed({ is: 'credentials', why: 'the integration has no credentials any more' })
      const answer = await appleAds.request(credentials, { ...request, signal })
      if (answer.is === 'data') return answer
      throw new AppleFailed(answer)
    }
  }
}

async function refusedIsFailed<T>(effect: () => Promise<T>): Promise<T | Failed> {
  try {
    return await effect()
  } catch (error) {
    if (!(error instanceof AppleFailed)) throw error
    const { answer } = error
    switch (answer.is) {
      case 'credentials':
      case 'permission':
        return { is: 'failed', kind: answer.is, why: answer.why }
      case 'unknown':
        if (answer.afterSeconds !== null) throw new RetryAt(answer.why, answer.afterSeconds)
        throw error
      case 'absent':
      case 'refused':
        return { is: 'failed', kind: 'unavailable', why: answer.why }
      default:
        return answer satisfies never
    }
  }
}
