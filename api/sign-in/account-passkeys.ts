import { type AddOutcome, addPasskey, creationOptions, MOST_OF_PASSKEY_NAME, MOST_PASSKEYS } from '../../domain/operators/passkeys/add.ts'
import { removePasskey } from '../../domain/operators/passkeys/passkey.ts'
import type { SignedIn } from '../../domain/operators/session.ts'
import { transaction } from '../../store/transaction.ts'
import type { Context } from '../context.ts'
import { ACCOUNT, withForm, withOperator } from './account.ts'
import { deviceOf } from './device.ts'
import { html } from './html.ts'
import { faultsOf } from './join.ts'
import { alert, field, showPage } from './page.ts'
import type { PageDeps } from './page-deps.ts'
import { answerIn, askedFor, LATE, PASSKEY_SCRIPT, passkeyForm, passkeySite } from './passkey-form.ts'
import { askAgain, askToSignIn, redirectTo } from './session.ts'

const PASSKEYS = `${ACCOUNT}/passkeys`

type Shown = { name?: string; fault?: string | undefined; failed?: string }

async function showAdd(deps: PageDeps, ctx: Context, who: SignedIn, { name, fault, failed }: Shown = {}): Promise<void> {
  if (!who.isRecent) return askAgain(ctx, PASSKEYS)
  const asked = askedFor(deps, ctx)
  if (!asked) return redirectTo(ctx, ACCOUNT)
  const form = passkeyForm(deps, ctx, {
    ...{ kind: 'create', action: PASSKEYS, page: PASSKEYS, site: asked.site },
    options: await creationOptions(deps.pool, deps.secrets, who.operator, asked),
    fields: field({
      ...{ name: 'name', label: 'Name', autocomplete: 'off', most: MOST_OF_PASSKEY_NAME, fault },
      value: (name ?? deviceOf(ctx.get('User-Agent') || null)).slice(0, MOST_OF_PASSKEY_NAME),
      hint: 'By which you know it again: the device or the app that keeps it.',
    }),
    button: html`<button>Create the passkey</button>`,
  })
  const body = html`<p>A passkey is kept by your device, your browser or a security key, and asks for your finger, your face or a PIN. With it you sign in without password and code.</p>
${alert(failed)}${form}
<p class="alert" data-without-passkey>This browser makes no passkeys here: they need script, and the address ${asked.site.origin}.</p>
<p class="below"><a href="${ACCOUNT}">Not now</a></p>`
  const status = failed === undefined && fault === undefined ? 200 : 422
  showPage(ctx, { title: 'A new passkey', body, signedInAs: who.operator.email, scripts: [PASSKEY_SCRIPT] }, status)
}

/** A page that was open for too long comes anew, with the name that was typed. */
export const getPasskeys = withOperator((deps, ctx, who) => {
  const { name } = ctx.query
  return showAdd(deps, ctx, who, typeof name === 'string' ? { name } : {})
})

const FAILED: Record<Exclude<AddOutcome, 'added' | 'ended'>, string> = {
  late: LATE,
  refused: 'This passkey was not taken. Try again, or try another device.',
  known: 'This passkey is in use already.',
  too_many: `Your account has ${MOST_PASSKEYS} passkeys. Remove one before you add another.`,
}

export const postPasskeys = withForm(async (deps, ctx, who, form) => {
  if (!who.isRecent) return askAgain(ctx, PASSKEYS)
  const [answer, name] = [answerIn(deps, form), form.get('name')]
  if (!answer) return redirectTo(ctx, ACCOUNT)
  try {
    const outcome = await addPasskey(deps, who, { ...answer, name })
    if (outcome === 'ended') return askToSignIn(ctx)
    if (outcome === 'added') return redirectTo(ctx, `${ACCOUNT}?done=passkey`)
    return showAdd(deps, ctx, who, { name, failed: FAILED[outcome] })
  } catch (error) {
    return showAdd(deps, ctx, who, { name, fault: faultsOf(error).name })
  }
})

export const postRemovePasskey = withForm(async (deps, ctx, who, form) => {
  if (!who.isRecent) return askAgain(ctx, ACCOUNT)
  const removal = { id: form.get('passkey').replaceAll('\0', ''), site: passkeySite(deps), issuer: deps.provider?.issuer ?? null }
  const outcome = await transaction(deps.pool, tx => removePasskey(tx, who, removal))
  redirectTo(ctx, outcome === 'unknown' ? ACCOUNT : `${ACCOUNT}?done=passkey-${outcome}`)
})
