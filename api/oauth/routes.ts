import type { Context, Layer } from '../context.ts'
import { problemOf } from '../errors.ts'
import { FormProblem } from '../sign-in/form.ts'
import { html } from '../sign-in/html.ts'
import { showPage } from '../sign-in/page.ts'
import { allowPages, answerProblem, OAuthProblem } from './answer.ts'
import { getAuthorize, postAuthorize } from './authorize.ts'
import { documentClients } from './client.ts'
import type { OAuthDeps } from './deps.ts'
import { authorizationServer, protectedResource } from './metadata.ts'
import { registration } from './register.ts'
import { getSecret, postSecret } from './secret.ts'
import { postRevoke, tokens } from './token.ts'

type Answer = (deps: OAuthDeps, ctx: Context) => Promise<void>
/** `isPage`: for people, with the cookie of their session; all others are for programs, and pages of any origin may read them. */
type Methods = { get?: Answer; post?: Answer; isPage?: true }

const SECRET = /^\/oauth\/secrets\/[\w-]{32}$/

/** A failure of our own, in the shape that people or clients of OAuth read. */
function answerFailure({ log }: OAuthDeps, ctx: Context, error: unknown, { isPage }: Methods): void {
  const { status, message } = problemOf(error)
  const { requestId: id, route: operation } = ctx.state
  if (status >= 500) log.error({ id, operation, err: error }, 'request failed')
  if (isPage) showPage(ctx, { title: 'This did not work', body: html`<p>${message}</p><p class="small">${id}</p>` }, status)
  else answerProblem(ctx, new OAuthProblem('server_error', message, { status }))
}

/** Sign-in of assistants: OAuth 2.1 for public clients, with grants of our own. All other requests go on. */
export function oauth(deps: OAuthDeps): Layer {
  const clientOf = documentClients()
  const secret: Methods = { get: getSecret, post: postSecret, isPage: true }
  const routes: Record<string, Methods> = {
    '/.well-known/oauth-protected-resource': { get: protectedResource },
    '/.well-known/oauth-protected-resource/mcp': { get: protectedResource },
    '/.well-known/oauth-authorization-server': { get: authorizationServer },
    '/.well-known/openid-configuration': { get: authorizationServer },
    '/oauth/register': { post: registration() },
    '/oauth/authorize': { get: getAuthorize(clientOf), post: postAuthorize(clientOf), isPage: true },
    '/oauth/token': { post: tokens() },
    '/oauth/revoke': { post: postRevoke },
  }
  return async (ctx, next) => {
    const isSecret = SECRET.test(ctx.path)
    const methods = isSecret ? secret : Object.hasOwn(routes, ctx.path) ? routes[ctx.path] : undefined
    if (!methods) return next()
    ctx.state.route = isSecret ? '/oauth/secrets/{code}' : ctx.path
    const allowed = [...(methods.get ? ['GET', 'HEAD'] : []), ...(methods.post ? ['POST'] : [])].join(', ')
    if (!methods.isPage) {
      allowPages(ctx, allowed)
      if (ctx.method === 'OPTIONS') return
    }
    try {
      const answer = ctx.method === 'POST' ? methods.post : ctx.method === 'GET' || ctx.method === 'HEAD' ? methods.get : undefined
      if (answer) return await answer(deps, ctx)
      ctx.set('Allow', allowed)
      if (methods.isPage) throw new FormProblem(405, 'This page does not know this method.')
      throw new OAuthProblem('invalid_request', 'the address does not know this method', { status: 405 })
    } catch (error) {
      if (error instanceof OAuthProblem) answerProblem(ctx, error)
      else if (error instanceof FormProblem)
        showPage(ctx, { title: 'This did not work', body: html`<p>${error.message}</p>` }, error.status)
      else answerFailure(deps, ctx, error, methods)
    }
  }
}
