import { audit } from '../../domain/kernel/audit/record.ts'
import { endGrant, type ListedGrant, listGrants } from '../../domain/operators/grants/grant.ts'
import { transaction } from '../../store/transaction.ts'
import type { Context } from '../context.ts'
import { ACCOUNT, withForm, withOperator } from './account.ts'
import { formToken } from './form.ts'
import { type Html, html } from './html.ts'
import { notice, showPage, when } from './page.ts'
import { redirectTo, type SessionDeps } from './session.ts'

export const ASSISTANTS = `${ACCOUNT}/assistants`

function grantLine(deps: SessionDeps, ctx: Context, grant: ListedGrant): Html {
  const { id, client_name, project_name, environment, scopes, created_at, last_used_at } = grant
  const changes = scopes.filter(scope => scope.endsWith(':write')).length
  const may = changes === 0 ? 'reads' : `reads, and changes things with ${changes === 1 ? '1 scope' : `${changes} scopes`}`
  return html`<li><div><p>${client_name}</p>
<p class="small">${project_name}, ${environment}: ${may}. Allowed ${when(created_at)}, ${last_used_at === null ? 'never used' : html`last used ${when(last_used_at)}`}</p></div>
<form method="post" action="${ASSISTANTS}">${formToken(deps, ctx)}<button class="plain" name="grant" value="${id}" aria-label="End the access of ${client_name} to ${project_name}, ${environment}">End</button></form></li>`
}

/** What the operator has allowed assistants. */
export const getAssistants = withOperator(async (deps, ctx, { operator }) => {
  const grants = await listGrants(deps.pool, operator.id)
  const body = html`${ctx.query.done === 'ended' && notice('The access has ended.')}
<p>What you have allowed assistants: each acts for you, with what your role covers at the moment of a call.</p>
${
  grants.length > 0
    ? html`<ul class="sessions">${grants.map(grant => grantLine(deps, ctx, grant))}</ul>`
    : html`<p class="small">None. An assistant that is connected to ${deps.publicUrl}/mcp asks you here, in the browser.</p>`
}
<p><a href="${ACCOUNT}">Your account</a></p>`
  showPage(ctx, { title: 'Your assistants', body, isWide: true, signedInAs: operator.email })
})

export const postAssistants = withForm(async (deps, ctx, { operator }, form) => {
  await transaction(deps.pool, async tx => {
    const own = (await listGrants(tx, operator.id)).find(({ id }) => id === form.get('grant'))
    const ended = own && (await endGrant(tx, own.id))
    if (!ended) return
    const { id, client_id, client_name, project, environment, scopes } = ended
    const actor = { kind: 'operator' as const, id: operator.email }
    const trail = { project, environment: null, actor, operation: 'end grant', requestId: ctx.state.requestId }
    await audit(tx, trail, { resource: 'grant', id, before: { id, operator: operator.email, client_id, client_name, environment, scopes } })
  })
  redirectTo(ctx, `${ASSISTANTS}?done=ended`)
})
