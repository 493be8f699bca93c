import { grantableProjects } from '../../domain/operators/grants/choices.ts'
import { findClient } from '../../domain/operators/grants/clients.ts'
import { createCode } from '../../domain/operators/grants/codes.ts'
import { covers } from '../../domain/operators/roles.ts'
import { hasSession, lockOperator, type SignedIn } from '../../domain/operators/session.ts'
import { SCOPES } from '../../schemas/generated/operations.ts'
import { transaction } from '../../store/transaction.ts'
import type { Context } from '../context.ts'
import { readForm } from '../sign-in/form.ts'
import { html } from '../sign-in/html.ts'
import { showPage } from '../sign-in/page.ts'
import { redirectTo, signedIn } from '../sign-in/session.ts'
import { fieldsOf, type OAuthFields, OAuthProblem } from './answer.ts'
import type { Asked } from './asked.ts'
import { type ClientOf, isDocumentAddress } from './client.ts'
import { type Choice, showConsent } from './consent.ts'
import type { OAuthDeps } from './deps.ts'
import { resourceOf } from './metadata.ts'
import { isRegistered, withParameters } from './redirect-uri.ts'

const KNOWN: ReadonlySet<string> = new Set(SCOPES)
const READS = SCOPES.filter(scope => scope.endsWith(':read'))

/** What changes something is ticked by the operator. */
const FIRST_CHOICE: Choice = { isTicked: scope => scope.endsWith(':read'), isProduction: false, findsTools: false }

function showUnknown(ctx: Context, text: string): null {
  showPage(ctx, { title: 'This did not work', body: html`<p>${text}</p><p>Connect the assistant anew, or tell whoever makes it.</p>` }, 400)
  return null
}

/** Throws `OAuthProblem` for what the client is told at its redirect URI. */
function readAsked(deps: OAuthDeps, query: OAuthFields): Pick<Asked, 'scopes' | 'challenge'> {
  const type = query.need('response_type')
  if (type !== 'code') throw new OAuthProblem('unsupported_response_type', 'response_type must be code')
  if (query.get('code_challenge_method') !== 'S256') throw new OAuthProblem('invalid_request', 'code_challenge_method must be S256')
  const challenge = query.need('code_challenge')
  if (!/^[\w-]{43}$/.test(challenge)) throw new OAuthProblem('invalid_request', 'code_challenge must be SHA-256 in base64url')
  const resource = query.get('resource')
  if (resource !== undefined && resource !== resourceOf(deps))
    throw new OAuthProblem('invalid_target', `resource must be ${resourceOf(deps)}`)
  const given = query.get('scope')?.split(' ').filter(Boolean)
  // Clients ask for scopes such as `offline_access` of their own accord: what is not known is left out.
  const scopes = given === undefined ? READS : SCOPES.filter(scope => given.includes(scope))
  if (scopes.length === 0) throw new OAuthProblem('invalid_scope', 'none of the scopes is known')
  return { scopes, challenge }
}

/** What the query asks for, or what is wrong with it. */
function askedOrProblem(deps: OAuthDeps, query: OAuthFields): Pick<Asked, 'state' | 'scopes' | 'challenge'> | OAuthProblem {
  try {
    return { state: query.get('state'), ...readAsked(deps, query) }
  } catch (problem) {
    if (problem instanceof OAuthProblem) return problem
    throw problem
  }
}

/**
 * The client's request. Null: it was answered with a page or at the redirect URI. For nobody who is not signed in a document is fetched, and nobody is
 * sent away: otherwise this address would lead wherever a client has registered.
 */
async function askedIn(deps: OAuthDeps, ctx: Context, clientOf: ClientOf, who: SignedIn | null): Promise<Asked | null> {
  const raw = new URLSearchParams(ctx.querystring)
  const query = fieldsOf(raw)
  const one = (name: string) => (raw.getAll(name).length === 1 ? raw.get(name)! : '')
  const asked = askedOrProblem(deps, query)
  if (asked instanceof OAuthProblem && !who) return showUnknown(ctx, `The assistant has asked for what is not possible: ${asked.message}.`)
  const id = one('client_id')
  if (isDocumentAddress(id) && !who) {
    askToSignIn(ctx)
    return null
  }
  const isRegisteredId = /^\w+$/.test(id)
  const client = isDocumentAddress(id)
    ? await clientOf(deps, id, who!.operator.id)
    : isRegisteredId
      ? await findClient(deps.pool, id)
      : null
  if (!client) return showUnknown(ctx, 'The assistant that has sent you here is not known.')
  const redirectUri = one('redirect_uri')
  if (!isRegistered(redirectUri, client.redirectUris))
    return showUnknown(ctx, 'The assistant has named an address that it has not registered.')
  if (!(asked instanceof OAuthProblem)) return { client, redirectUri, ...asked }
  const { error, message } = asked
  const state = raw.getAll('state').length === 1 ? raw.get('state')! : undefined
  redirectTo(ctx, withParameters(redirectUri, { error, error_description: message, state, iss: deps.publicUrl }))
  return null
}

/** From there back to the page of consent, also when a form was sent: nothing is allowed by itself. */
const askToSignIn = (ctx: Context): void => redirectTo(ctx, `/sign-in?next=${encodeURIComponent(ctx.path + ctx.search)}`)

const projectIn = (ctx: Context): number => Number(new URLSearchParams(ctx.querystring).get('project') ?? Number.NaN)

export const getAuthorize = (clientOf: ClientOf) =>
  async function authorize(deps: OAuthDeps, ctx: Context): Promise<void> {
    const who = await signedIn(deps, ctx)
    const asked = await askedIn(deps, ctx, clientOf, who)
    if (!asked) return
    if (!who) return askToSignIn(ctx)
    const projects = await grantableProjects(deps.pool, who.operator.id)
    const project = projects.find(({ id }) => id === projectIn(ctx)) ?? projects[0]
    showConsent(deps, ctx, { asked, who, projects, project, chosen: FIRST_CHOICE })
  }

export const postAuthorize = (clientOf: ClientOf) =>
  async function decide(deps: OAuthDeps, ctx: Context): Promise<void> {
    const form = await readForm(deps, ctx)
    const who = await signedIn(deps, ctx)
    const asked = await askedIn(deps, ctx, clientOf, who)
    if (!asked) return
    if (!who) return askToSignIn(ctx)
    const { client, redirectUri, state, challenge } = asked
    const answer = (parameters: Record<string, string>) =>
      redirectTo(ctx, withParameters(redirectUri, { ...parameters, state, iss: deps.publicUrl }))
    const decision = form.get('decision')
    if (decision !== 'allow' && decision !== 'tick')
      return answer({ error: 'access_denied', error_description: 'the operator has refused' })
    const projects = await grantableProjects(deps.pool, who.operator.id)
    const project = projects.find(({ id }) => String(id) === form.get('project'))
    const kind = form.get('environment')
    const findsTools = form.get('tools') === 'find'
    const sent = new Set(form.all('scope'))
    const show = (failed: string | undefined, isTicked: Choice['isTicked']) =>
      showConsent(deps, ctx, {
        ...{ asked, who, projects, project: project ?? projects[0], failed },
        chosen: { isTicked, isProduction: kind === 'production', findsTools },
      })
    const again = (failed: string) => show(failed, scope => sent.has(scope))
    if (!project) return again('You have no role in this project any more.')
    if (decision === 'tick') return show(undefined, () => true)
    if (kind !== 'production' && kind !== 'sandbox') return again('Choose an environment.')
    const scopes = [...sent].filter(scope => KNOWN.has(scope) && asked.scopes.includes(scope) && covers(project.role, scope))
    if (scopes.length === 0) return again('Tick at least one of the boxes, or deny.')
    const environment = project.environments[kind]
    const grant = {
      operator: who.operator.id,
      clientId: client.id,
      clientName: client.name,
      project: project.id,
      environment,
      scopes,
      findsTools,
    }
    const code = await transaction(deps.pool, async tx => {
      await lockOperator(tx, who.operator.id)
      // Whoever has ended the session since the request began has meant what it allows as well.
      return (await hasSession(tx, who.operator.id, who.session)) ? createCode(tx, { ...grant, redirectUri, challenge }) : null
    })
    return code === null ? askToSignIn(ctx) : answer({ code })
  }
