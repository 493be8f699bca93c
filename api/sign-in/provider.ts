import { beginGuess, checkGuess, forgiveGuess } from '../../domain/operators/guesses.ts'
import type { ProvidedPerson, SignInProvider } from '../../domain/operators/provider.ts'
import { authenticateByProvider, linkByProvider, signInByProvider } from '../../domain/operators/provider-sign-in.ts'
import type { Context } from '../context.ts'
import { ACCOUNT } from './account.ts'
import { showAgain } from './again.ts'
import { type Failed, lockedFor } from './failed.ts'
import { FormProblem, hasLinkToken } from './form.ts'
import { html } from './html.ts'
import { alert, showPage } from './page.ts'
import type { PageDeps } from './page-deps.ts'
import type { Purpose } from './provider-link.ts'
import { askAgain, callerOf, localPath, redirectTo, signedIn } from './session.ts'
import { begin, requestOf, showSignIn, withNext } from './sign-in.ts'
import { beginTrip, endTrip, type Trip, toldOf } from './trip.ts'

/** A provider that is away is asked again after so long. */
const RETRY_SECONDS = 10

function providerOf({ provider }: PageDeps): SignInProvider {
  if (!provider) throw new FormProblem(404, 'This service has no single sign-on.')
  return provider
}

/** What the browser says about the page with the link: no other site begins a trip. */
const isFromHere = (ctx: Context): boolean => ['', 'same-origin', 'none'].includes(ctx.get('Sec-Fetch-Site'))

const purposeIn = (ctx: Context): Purpose => (ctx.query.for === 'again' || ctx.query.for === 'link' ? ctx.query.for : 'sign_in')

/** Sends the browser to the provider. Nothing is written: whoever opens this page a thousand times leaves no row. */
export async function getProvider(deps: PageDeps, ctx: Context): Promise<void> {
  const provider = providerOf(deps)
  const [to, purpose] = [localPath(deps, ctx.query.next as string | undefined), purposeIn(ctx)]
  // From there a person who is signed in goes on to the page, and is asked again where that is needed.
  if (!isFromHere(ctx)) return redirectTo(ctx, withNext('/sign-in', to))
  const who = await signedIn(deps, ctx)
  if (purpose === 'sign_in' && who) return redirectTo(ctx, to)
  if (purpose !== 'sign_in' && !who) return redirectTo(ctx, withNext('/sign-in', to))
  if (purpose === 'link' && !who?.isRecent) return askAgain(ctx, ACCOUNT)
  // Whoever leads a browser here could otherwise link the account with whom the provider knows in it. There the person sees the button.
  if (purpose === 'link' && !hasLinkToken(deps, ctx)) return redirectTo(ctx, ACCOUNT)
  const trip = beginTrip(deps, ctx, purpose, to, who?.session ?? null)
  const begun = await provider.begin(toldOf(deps, trip))
  if (begun.is === 'begun') return redirectTo(ctx, begun.url)
  return showAway(deps, ctx, provider, trip, begun.why)
}

type Place = Pick<Trip, 'purpose' | 'to'>

const showAway = (deps: PageDeps, ctx: Context, { name }: SignInProvider, place: Place, why: string) =>
  showFailed(deps, ctx, place, { status: 503, text: `${name} does not answer as it should. Try again.`, retryAfter: RETRY_SECONDS }, why)

/** The page from which the trip began, with what was wrong. `why`: for the log. */
async function showFailed(deps: PageDeps, ctx: Context, { purpose, to }: Place, failed: Failed, why: string): Promise<void> {
  const request = ctx.state.requestId
  deps.log.warn({ id: request, purpose, why }, 'single sign-on failed')
  const said = { ...failed, request }
  if (purpose === 'sign_in') return showSignIn(deps, ctx, to, { failed: said })
  if (purpose === 'again') return showAgain(deps, ctx, to, said)
  if (failed.retryAfter !== undefined) ctx.set('Retry-After', String(failed.retryAfter))
  const body = html`${alert(failed.text)}${requestOf(said)}<p><a class="button" href="${ACCOUNT}">To your account</a></p>`
  showPage(ctx, { title: 'Single sign-on', body }, failed.status)
}

/** The browser comes back from the provider. */
export async function getCallback(deps: PageDeps, ctx: Context): Promise<void> {
  const provider = providerOf(deps)
  const { name } = provider
  const trip = endTrip(deps, ctx)
  if (!trip) {
    const text = 'This sign-in was begun in another browser or tab, or more than ten minutes ago. Begin again.'
    return showFailed(deps, ctx, { purpose: 'sign_in', to: localPath(deps, null) }, { status: 400, text }, 'no such trip')
  }
  const { pool, secrets } = deps
  // Of codes that come at the same moment as many are tried as one after the other.
  const begun = await beginGuess(pool, secrets, { email: null, address: callerOf(ctx).network })
  if (begun.is === 'locked') return showLocked(deps, ctx, trip, begun.seconds)
  const outcome = await checkGuess(pool, begun.guess, () => provider.finish(ctx.querystring, toldOf(deps, trip)))
  // Somebody who has changed their mind brings no code.
  const isWrong = outcome.is === 'refused' && outcome.isCodeWrong
  if (!isWrong) await forgiveGuess(pool, begun.guess)
  switch (outcome.is) {
    case 'away':
      return showAway(deps, ctx, provider, trip, outcome.why)
    case 'refused':
      return showFailed(deps, ctx, trip, { status: 403, text: `${name} has not confirmed who you are. Nothing has changed.` }, outcome.why)
    case 'person':
      return COMING_BACK[trip.purpose](deps, ctx, provider, trip, outcome.person)
    default:
      return outcome satisfies never
  }
}

const showLocked = (deps: PageDeps, ctx: Context, trip: Trip, seconds: number) =>
  showFailed(deps, ctx, trip, { status: 429, text: lockedFor(seconds), retryAfter: seconds }, 'locked')

const noteLinked = ({ log }: PageDeps, ctx: Context, operator: string) =>
  log.info({ id: ctx.state.requestId, operator }, 'an operator is linked to single sign-on')

type ComingBack = (deps: PageDeps, ctx: Context, provider: SignInProvider, trip: Trip, person: ProvidedPerson) => Promise<void>

const USED = 'This sign-in was used before. Begin again.'
const LINKED_ELSEWHERE = (name: string) =>
  `Your account here belongs to somebody else at ${name}, or you to another account here. Whoever runs this service can set it right.`

const signInWith: ComingBack = async (deps, ctx, { name }, trip, person) => {
  const outcome = await signInByProvider(deps, { person, state: trip.state }, callerOf(ctx))
  const refuse = (status: number, text: string) => showFailed(deps, ctx, trip, { status, text }, outcome.is)
  switch (outcome.is) {
    case 'signed_in': {
      if (outcome.isNew) noteLinked(deps, ctx, outcome.operator)
      await begin(deps, ctx, outcome)
      return redirectTo(ctx, trip.to)
    }
    case 'unknown':
      return refuse(403, `There is no account for ${person.email} here. Whoever runs this service makes one.`)
    case 'unverified':
      return refuse(403, `${name} does not vouch for your e-mail address, so no account here is known to be yours.`)
    case 'linked_elsewhere':
      return refuse(403, LINKED_ELSEWHERE(name))
    case 'used':
      return refuse(400, USED)
    case 'locked':
      return showLocked(deps, ctx, trip, outcome.seconds)
    default:
      return outcome satisfies never
  }
}

/** Somebody who is signed in, in the session with which the trip began. */
const travellerOf = async (deps: PageDeps, ctx: Context, trip: Trip) => {
  const who = await signedIn(deps, ctx)
  return who?.session === trip.session ? who : null
}

const authenticateWith: ComingBack = async (deps, ctx, { name }, trip, person) => {
  const who = await travellerOf(deps, ctx, trip)
  if (!who) return redirectTo(ctx, withNext('/sign-in', trip.to))
  const outcome = await authenticateByProvider(deps, who, { person, state: trip.state }, callerOf(ctx).network)
  switch (outcome.is) {
    case 'right':
      return redirectTo(ctx, trip.to)
    case 'ended':
      return redirectTo(ctx, withNext('/sign-in', trip.to))
    case 'somebody_else':
      return showFailed(deps, ctx, trip, { status: 403, text: `You are somebody else at ${name}.` }, outcome.is)
    case 'used':
      return showFailed(deps, ctx, trip, { status: 400, text: USED }, outcome.is)
    case 'locked':
      return showLocked(deps, ctx, trip, outcome.seconds)
    default:
      return outcome satisfies never
  }
}

const linkWith: ComingBack = async (deps, ctx, { name }, trip, person) => {
  const who = await travellerOf(deps, ctx, trip)
  if (!who) return redirectTo(ctx, withNext('/sign-in', ACCOUNT))
  const outcome = await linkByProvider(deps.pool, who, { person, state: trip.state })
  if (outcome.is === 'linked') {
    noteLinked(deps, ctx, who.operator.id)
    return redirectTo(ctx, `${ACCOUNT}?done=linked`)
  }
  if (outcome.is === 'ended') return redirectTo(ctx, withNext('/sign-in', ACCOUNT))
  const text = outcome.is === 'used' ? USED : LINKED_ELSEWHERE(name)
  return showFailed(deps, ctx, trip, { status: outcome.is === 'used' ? 400 : 409, text }, outcome.is)
}

const COMING_BACK: Record<Purpose, ComingBack> = { sign_in: signInWith, again: authenticateWith, link: linkWith }
