import type { Context } from '../context.ts'
import { Html, html } from './html.ts'

export const ASSETS = '/sign-in/assets'

export type PageParts = {
  title: string
  body: Html
  /** Of a page with lists; a form stands in a narrow column. */
  isWide?: boolean
  /** Names of files of web/sign-in. The page works without them. */
  scripts?: readonly string[]
  /** Who is signed in: the page shows who it is. */
  signedInAs?: string
  /** Origins besides this one to which a form of the page may lead, also by a redirect. */
  formOrigins?: readonly string[]
}

/** Without inline style and script. */
const policy = (formOrigins: readonly string[]) =>
  [
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:",
    `form-action ${["'self'", ...formOrigins].join(' ')}`,
    "base-uri 'none'; frame-ancestors 'none'; object-src 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  ].join('; ')

/** For every answer of these pages. */
export function protect(ctx: Context, formOrigins: readonly string[] = []): void {
  ctx.set({
    'Content-Security-Policy': policy(formOrigins),
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
  })
}

const BRAND = new Html(`<p class="brand"><img src="${ASSETS}/icon.svg" alt="" width="28" height="28">Perennial</p>`)

/** Answers with a page: title, style sheet, policy and frame are those of all pages outside of the console. */
export function showPage(ctx: Context, { title, body, isWide, scripts = [], signedInAs, formOrigins }: PageParts, status = 200): void {
  protect(ctx, formOrigins)
  ctx.status = status
  ctx.type = 'text/html; charset=utf-8'
  ctx.body = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title} · Perennial</title>
<link rel="icon" href="${ASSETS}/icon.svg">
<link rel="stylesheet" href="${ASSETS}/pages.css">
<script src="${ASSETS}/theme.js"></script>
</head>
<body>
<header>${BRAND}${signedInAs !== undefined && html`<p class="who">${signedInAs}</p>`}</header>
<main class="${isWide ? 'wide' : 'narrow'}">
<h1>${title}</h1>
${body}
</main>
${scripts.map(name => html`<script type="module" src="${ASSETS}/${name}.js"></script>`)}
</body>
</html>
`.text
}

/** Of an instant, to the minute. */
export const when = (time: string): Html => {
  const at = new Date(time).toISOString()
  return html`<time datetime="${at}">${at.slice(0, 16).replace('T', ' ')} UTC</time>`
}

/** A sentence that is read out at once: what was wrong. */
export const alert = (text: string | null | undefined): Html | null =>
  text === null || text === undefined ? null : html`<p class="alert" role="alert">${text}</p>`

export const notice = (text: string | null | undefined): Html | null =>
  text === null || text === undefined ? null : html`<p class="notice" role="status">${text}</p>`

type Field = {
  name: string
  label: string
  type?: 'text' | 'password' | 'email'
  value?: string | null
  autocomplete: string
  hint?: string
  fault?: string | undefined
  isOptional?: boolean
  isCode?: boolean
  isFirst?: boolean
  /** Characters. */
  most?: number
}

/** A labelled field with its hint and its fault, which a screen reader reads with it. */
export function field({ name, label, type = 'text', value, autocomplete, hint, fault, isOptional, isCode, isFirst, most }: Field): Html {
  const described = [...(hint === undefined ? [] : [`${name}-hint`]), ...(fault === undefined ? [] : [`${name}-fault`])]
  return html`<div class="field"><label for="${name}">${label}</label>
<input id="${name}" name="${name}" type="${type}" value="${value ?? ''}" autocomplete="${autocomplete}"${most !== undefined && html` maxlength="${most}"`}${!isOptional && new Html(' required')}${isFirst && new Html(' autofocus')}${isCode && new Html(' spellcheck="false" autocapitalize="none" class="code"')}${described.length > 0 && html` aria-describedby="${described.join(' ')}"`}${fault !== undefined && new Html(' aria-invalid="true"')}>
${hint !== undefined && html`<p class="hint" id="${name}-hint">${hint}</p>`}${fault !== undefined && html`<p class="fault" id="${name}-fault">${fault}</p>`}</div>`
}
