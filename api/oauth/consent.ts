import type { GrantableProject } from '../../domain/operators/grants/choices.ts'
import { covers } from '../../domain/operators/roles.ts'
import type { SignedIn } from '../../domain/operators/session.ts'
import type { Context } from '../context.ts'
import { formToken } from '../sign-in/form.ts'
import { Html, html } from '../sign-in/html.ts'
import { alert, showPage } from '../sign-in/page.ts'
import type { Asked } from './asked.ts'
import { isDocumentAddress } from './client.ts'
import type { OAuthDeps } from './deps.ts'
import { formOriginOf, isOnDevice, receiverOf } from './redirect-uri.ts'

/** What stands in the form. */
export type Choice = { isTicked: (scope: string) => boolean; isProduction: boolean; findsTools: boolean }

export type Consent = {
  asked: Asked
  who: SignedIn
  projects: readonly GrantableProject[]
  project: GrantableProject | undefined
  chosen: Choice
  failed?: string | undefined
}

const inWords = (name: string) => name[0]!.toUpperCase() + name.slice(1).replaceAll('_', ' ')

const radio = (name: string, value: string, isChecked: boolean, text: string): Html =>
  html`<label class="check"><input type="radio" name="${name}" value="${value}"${isChecked && new Html(' checked')}> ${text}</label>`

function scopeBox(scope: string, { role }: GrantableProject, { isTicked }: Choice): Html {
  const isCovered = covers(role, scope)
  const verb = scope.endsWith(':read') ? 'read' : 'change'
  const attributes = !isCovered ? new Html(' disabled') : isTicked(scope) && new Html(' checked')
  return html`<label class="check"><input type="checkbox" name="scope" value="${scope}"${attributes}> ${verb}${!isCovered && html` <span class="small">not with your role</span>`}</label>`
}

function scopeGroups(scopes: readonly string[], project: GrantableProject, chosen: Choice): Html[] {
  const resources = [...new Set(scopes.map(scope => scope.split(':')[0]!))]
  return resources.map(
    resource => html`<fieldset class="scopes"><legend>${inWords(resource)}</legend>
${scopes.filter(scope => scope.split(':')[0] === resource).map(scope => scopeBox(scope, project, chosen))}</fieldset>`,
  )
}

/** Other projects are links: which boxes can be ticked depends on the role there, and the page works without script. */
function projectChoice(ctx: Context, projects: readonly GrantableProject[], chosen: GrantableProject): Html {
  const address = (id: number) => {
    const query = new URLSearchParams(ctx.querystring)
    query.set('project', String(id))
    return `${ctx.path}?${query}`
  }
  const others = projects.filter(({ id }) => id !== chosen.id)
  return html`<p>${chosen.name}, where you are ${chosen.role}</p>
${others.length > 0 && html`<p class="small">Another one: ${others.map((one, i) => html`${i > 0 && ', '}<a href="${address(one.id)}">${one.name}</a>`)}</p>`}`
}

/** The page on which an operator allows or denies what a client asks for. */
export function showConsent(deps: OAuthDeps, ctx: Context, { asked, who, projects, project, chosen, failed }: Consent): void {
  const { client, redirectUri, scopes } = asked
  const from = isDocumentAddress(client.id) ? new URL(client.id).host : null
  const action = `${ctx.path}${ctx.search}`
  const deny = html`<button class="plain" name="decision" value="deny">Deny</button>`
  const about = html`<p><strong>${client.name}</strong>${from !== null && html` of ${from}`} asks to work with Perennial for you. What you allow is sent to <strong>${receiverOf(redirectUri)}</strong>. The name is what the program says of itself.</p>
${isOnDevice(redirectUri) && html`<p class="small">Any program on this device can have asked. Go on only if you have just begun this yourself.</p>`}`
  const hasMore = project !== undefined && scopes.some(scope => covers(project.role, scope) && !chosen.isTicked(scope))
  const form = project
    ? html`<section><h2>Project</h2>${projectChoice(ctx, projects, project)}</section>
<form method="post" action="${action}">${formToken(deps, ctx)}<input type="hidden" name="project" value="${project.id}">
<fieldset class="scopes"><legend>Environment</legend>
${radio('environment', 'sandbox', !chosen.isProduction, 'Sandbox')}
${radio('environment', 'production', chosen.isProduction, 'Production')}</fieldset>
<section><h2>It may</h2>${hasMore && html`<p class="small">Only reading is ticked at first. <button class="plain" name="decision" value="tick">Tick everything</button></p>`}
<div class="scope-list">${scopeGroups(scopes, project, chosen)}</div></section>
<fieldset class="scopes"><legend>It sees</legend>
${radio('tools', 'all', !chosen.findsTools, 'a tool for each operation')}
${radio('tools', 'find', chosen.findsTools, 'three tools that find and call operations, for assistants with little room')}</fieldset>
<div class="actions"><button name="decision" value="allow">Allow</button>${deny}</div></form>`
    : html`<p>You have no role in any project. Whoever runs this service gives you one.</p>
<form method="post" action="${action}">${formToken(deps, ctx)}${deny}</form>`
  showPage(
    ctx,
    {
      title: 'Connect an assistant',
      body: html`${alert(failed)}${about}${form}`,
      isWide: true,
      signedInAs: who.operator.email,
      formOrigins: [formOriginOf(redirectUri)],
    },
    failed === undefined ? 200 : 422,
  )
}
