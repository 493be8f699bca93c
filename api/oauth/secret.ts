import { isRevealable, takeRevealed } from '../../domain/operators/grants/reveals.ts'
import { transaction } from '../../store/transaction.ts'
import type { Context } from '../context.ts'
import { formToken, readForm } from '../sign-in/form.ts'
import { html } from '../sign-in/html.ts'
import { showPage } from '../sign-in/page.ts'
import { askAgain, redirectTo, signedIn } from '../sign-in/session.ts'
import type { OAuthDeps } from './deps.ts'

const askToSignIn = (ctx: Context): void => redirectTo(ctx, `/sign-in?next=${encodeURIComponent(ctx.path)}`)

const codeIn = (ctx: Context): string => ctx.path.slice(ctx.path.lastIndexOf('/') + 1)

/** A button, and not the secret itself: a browser that loads the page ahead does not use the code up. */
export async function getSecret(deps: OAuthDeps, ctx: Context): Promise<void> {
  const who = await signedIn(deps, ctx)
  if (!who) return askToSignIn(ctx)
  if (!(await isRevealable(deps.pool, codeIn(ctx), who.operator.id))) return showGone(ctx)
  if (!who.isRecent) return askAgain(ctx)
  const body = html`<p>The secret is shown once, and to you alone. Have at hand where you keep it.</p>
<form method="post" action="${ctx.path}">${formToken(deps, ctx)}<button>Show it</button></form>`
  showPage(ctx, { title: 'A new secret', body, signedInAs: who.operator.email })
}

export async function postSecret(deps: OAuthDeps, ctx: Context): Promise<void> {
  await readForm(deps, ctx)
  const who = await signedIn(deps, ctx)
  if (!who) return askToSignIn(ctx)
  if (!who.isRecent) return askAgain(ctx, ctx.path)
  const secret = await transaction(deps.pool, tx => takeRevealed(tx, deps.secrets, codeIn(ctx), who.operator.id))
  if (secret === null) return showGone(ctx)
  const body = html`<p>It is not shown again.</p><p><code>${secret}</code></p>`
  showPage(ctx, { title: 'The new secret', body, signedInAs: who.operator.email })
}

const showGone = (ctx: Context): void =>
  showPage(
    ctx,
    {
      title: 'There is nothing here',
      body: html`<p>A secret is shown once, within ten minutes, and only to whoever has confirmed that it is made.</p>`,
    },
    404,
  )
