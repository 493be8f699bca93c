import { Refusal } from '../../domain/kernel/refusal.ts'
import { checkedPerson, join } from '../../domain/operators/accounts.ts'
import { type PasswordLink, readLink } from '../../domain/operators/links.ts'
import type { Context } from '../context.ts'
import { formToken, readForm } from './form.ts'
import { html } from './html.ts'
import { alert, field, showPage } from './page.ts'
import type { PageDeps } from './page-deps.ts'
import { callerOf, homeOf, redirectTo, setCookie } from './session.ts'
import { pathOfStep } from './sign-in.ts'

/** The code of a link stands behind the # of its address, so it reaches no log and no proxy; a script puts it into the field. */
const FIRST = {
  path: '/console/first',
  title: 'The first operator',
  lead: 'You become the owner of this installation: you see every project, and invite the others.',
}
const INVITED = { path: '/console/join', title: 'Choose a password', lead: 'With it you sign in to this service from now on.' }
type Kind = typeof FIRST

const onlyNow = (provider: string) =>
  `People sign in to this service with ${provider}. This link opens your account once without it; the password counts as long as you stay signed in.`

const OVER = 'This link is over, or it was used. Whoever runs this service makes another one.'
const HINT = 'At least 12 characters. A few words that do not belong together are easy to remember and hard to guess.'

type Shown = { code?: string; email?: string; name?: string; faults?: Record<string, string>; failed?: string }

function showJoin(deps: PageDeps, ctx: Context, kind: Kind, { code = '', email = '', name = '', faults = {}, failed }: Shown = {}): void {
  const isFirst = kind.path === FIRST.path
  const { provider } = deps
  const lead = isFirst || !provider?.isRequired ? kind.lead : onlyNow(provider.name)
  const body = html`<p>${lead}</p>${alert(failed)}
<form method="post" action="${kind.path}">
${formToken(deps, ctx)}
${field({ name: 'code', label: 'Code', value: code, autocomplete: 'off', hint: 'What stands behind the # in your link.', fault: faults.code, isCode: true })}
${isFirst && field({ name: 'email', label: 'E-mail address', type: 'email', value: email, autocomplete: 'username', fault: faults.email })}
${isFirst && field({ name: 'name', label: 'Name', value: name, autocomplete: 'name', hint: 'As the others know you.', fault: faults.name, isOptional: true })}
${field({ name: 'password', label: 'Password', type: 'password', autocomplete: 'new-password', hint: HINT, fault: faults.password })}
${field({ name: 'repeated', label: 'The same password again', type: 'password', autocomplete: 'new-password', fault: faults.repeated })}
<button type="submit">${isFirst ? 'Create the account' : 'Set the password'}</button>
</form>`
  const status = failed === undefined && Object.keys(faults).length === 0 ? 200 : 422
  showPage(ctx, { title: kind.title, body, scripts: ['code'] }, status)
}

export const getFirst = async (deps: PageDeps, ctx: Context): Promise<void> => showJoin(deps, ctx, FIRST)
export const getJoin = async (deps: PageDeps, ctx: Context): Promise<void> => showJoin(deps, ctx, INVITED)
export const postFirst = (deps: PageDeps, ctx: Context): Promise<void> => post(deps, ctx, FIRST)
export const postJoin = (deps: PageDeps, ctx: Context): Promise<void> => post(deps, ctx, INVITED)

/** Somebody pastes the whole link. */
const codeIn = (given: string): string => given.slice(given.indexOf('#') + 1).trim()

export const faultsOf = (error: unknown): Record<string, string> => {
  if (!(error instanceof Refusal && error.details)) throw error
  return Object.fromEntries(error.details.map(({ field: name, message }) => [name, `This ${message}.`]))
}

async function post(deps: PageDeps, ctx: Context, kind: Kind): Promise<void> {
  const form = await readForm(deps, ctx)
  const [code, email, name, password] = [codeIn(form.get('code')), form.get('email'), form.get('name'), form.get('password')]
  const again = { code, email, name }
  const link = await readLink(deps.pool, code)
  if (!link || !isOf(kind, link)) return showJoin(deps, ctx, kind, { ...again, failed: OVER })
  if (password !== form.get('repeated')) return showJoin(deps, ctx, kind, { ...again, faults: { repeated: 'The two passwords differ.' } })
  try {
    if (link.operator === null) checkedPerson(email, name)
    const joined = await join(deps, { code, email, name, password }, callerOf(ctx).device)
    if (joined === null) return showJoin(deps, ctx, kind, { ...again, failed: OVER })
    setCookie(deps, ctx, joined.token)
    redirectTo(ctx, joined.awaits === null ? homeOf(deps) : pathOfStep(joined.awaits))
  } catch (error) {
    showJoin(deps, ctx, kind, { ...again, faults: faultsOf(error) })
  }
}

const isOf = (kind: Kind, { operator }: PasswordLink): boolean => (kind.path === FIRST.path) === (operator === null)
