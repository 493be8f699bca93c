import {
  beginSecondFactor,
  confirmSecondFactor,
  newRecoveryCodes,
  removeSecondFactor,
  secondFactorInSetUp,
  secondFactorOf,
} from '../../domain/operators/second-factor.ts'
import { endSessions, endSetUps, lockOperator, type SignedIn } from '../../domain/operators/session.ts'
import { transaction } from '../../store/transaction.ts'
import type { Context } from '../context.ts'
import { ACCOUNT, withForm, withOperator } from './account.ts'
import { formToken } from './form.ts'
import { html } from './html.ts'
import { alert, field, showPage } from './page.ts'
import { recoveryCodes, secretPicture } from './second-factor.ts'
import { askAgain, redirectTo, type SessionDeps } from './session.ts'

const PATH = `${ACCOUNT}/second-factor`

async function showSetUp(deps: SessionDeps, ctx: Context, who: SignedIn, failed?: string): Promise<void> {
  const made = who.isRecent ? await secondFactorInSetUp(deps.pool, deps.secrets, who.operator.id) : null
  if (!made) return redirectTo(ctx, ACCOUNT)
  const body = html`${alert(failed)}${secretPicture(made)}
<form method="post" action="${PATH}">${formToken(deps, ctx)}
${field({ name: 'code', label: 'The code that the app shows', autocomplete: 'one-time-code', isCode: true })}
<button name="step" value="confirm">Confirm</button></form>
<p class="below"><a href="${ACCOUNT}">Not now</a></p>`
  showPage(ctx, { title: 'Second factor', body, signedInAs: who.operator.email }, failed === undefined ? 200 : 422)
}

export const getFactor = withOperator(showSetUp)

const showCodes = (ctx: Context, who: SignedIn, codes: readonly string[]) =>
  showPage(ctx, { title: 'Recovery codes', body: recoveryCodes(codes, ACCOUNT), signedInAs: who.operator.email })

/** A second factor is begun, confirmed or removed by somebody who has just given a password or a code. */
export const postFactor = withForm(async (deps, ctx, who, form) => {
  const { id } = who.operator
  if (!who.isRecent) return askAgainFor(ctx)
  switch (form.get('step')) {
    case 'begin': {
      const hasBegun = await transaction(deps.pool, async tx => {
        await lockOperator(tx, id)
        // A session that waits for a second factor would show the new secret.
        await endSetUps(tx, id)
        return beginSecondFactor(tx, deps.secrets, id)
      })
      return redirectTo(ctx, hasBegun ? PATH : ACCOUNT)
    }
    case 'remove': {
      const isNeeded = (await secondFactorOf(deps.pool, id)).isNeeded
      if (!isNeeded) await transaction(deps.pool, tx => removeSecondFactor(tx, id))
      return redirectTo(ctx, isNeeded ? ACCOUNT : `${ACCOUNT}?done=removed`)
    }
    default: {
      if (!(await secondFactorInSetUp(deps.pool, deps.secrets, id))) return redirectTo(ctx, ACCOUNT)
      const codes = await transaction(deps.pool, async tx => {
        await lockOperator(tx, id)
        const made = await confirmSecondFactor(tx, deps.secrets, id, form.get('code'))
        if (made) await endSessions(tx, id, who.session)
        return made
      })
      return codes
        ? showCodes(ctx, who, codes)
        : showSetUp(deps, ctx, who, 'This code is wrong. The clock of your telephone must be right.')
    }
  }
})

export const postRecoveryCodes = withForm(async (deps, ctx, who) => {
  if (!who.isRecent) return askAgainFor(ctx)
  if (!(await secondFactorOf(deps.pool, who.operator.id)).isOn) return redirectTo(ctx, ACCOUNT)
  const codes = await transaction(deps.pool, async tx => {
    await lockOperator(tx, who.operator.id)
    return newRecoveryCodes(tx, who.operator.id)
  })
  showCodes(ctx, who, codes)
})

/** From there back to the page with the button, which the person presses again. */
const askAgainFor = (ctx: Context): void => askAgain(ctx, ACCOUNT)
