import MarkdownIt, { type Token } from 'markdown-it'
import { escaped } from './escaped.ts'

/** The anchor that GitHub gives a heading. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')

export type Heading = { level: number; text: string; anchor: string }
/** A heading with the text below it, up to the next one. */
export type Section = Heading & { body: string }
export type Rendered = { html: string; headings: Heading[]; sections: Section[] }

const SPACES = ['softbreak', 'hardbreak']
const textOf = (token: Token): string =>
  (token.children ?? []).map(({ type, content }) => (SPACES.includes(type) ? ' ' : type === 'html_inline' ? '' : content)).join('')

/**
 * A page of `docs/` becomes HTML. `pageOf` gives the address of another page by its file. A link to any other file of the repository is only its
 * text: the service does not serve the file.
 */
export function markdownRenderer(highlight: (code: string, language: string) => string, pageOf: (file: string) => string | null) {
  const markdown = new MarkdownIt({ html: true })
  const targetOf = (href: string): string | null => {
    if (/^(https?:|#|\/)/.test(href)) return href
    const [file = '', anchor] = href.split('#')
    const page = pageOf(file)
    return page && (anchor === undefined ? page : `${page}#${anchor}`)
  }
  markdown.core.ruler.push('links', ({ tokens }) => {
    for (const { children } of tokens) {
      const open: boolean[] = []
      for (const child of children ?? []) {
        if (child.type === 'link_open') {
          const address = targetOf(String(child.attrGet('href') ?? ''))
          open.push(address !== null)
          if (address === null) child.hidden = true
          else child.attrSet('href', address)
        } else if (child.type === 'link_close' && !open.pop()) child.hidden = true
      }
    }
  })
  const { rules } = markdown.renderer
  const shown = (type: string): void => {
    const plain = rules[type] ?? ((tokens, i, options, _env, self) => self.renderToken(tokens, i, options))
    rules[type] = (tokens, i, options, env, self) => (tokens[i]!.hidden ? '' : plain(tokens, i, options, env, self))
  }
  shown('link_open')
  shown('link_close')
  const image = rules.image!
  rules.image = (tokens, i, options, env, self) => {
    const src = String(tokens[i]!.attrGet('src'))
    if (src.startsWith('screens/')) tokens[i]!.attrSet('src', `/docs/${src}`)
    tokens[i]!.attrSet('loading', 'lazy')
    return image(tokens, i, options, env, self)
  }
  rules.heading_open = (tokens, i) => `<${tokens[i]!.tag} id="${anchorOf(textOf(tokens[i + 1]!))}">`
  rules.heading_close = (tokens, i) => {
    const text = textOf(tokens[i - 1]!)
    const link = `<a class="anchor" href="#${anchorOf(text)}" aria-label="Link to “${escaped(text)}”">#</a>`
    return `${tokens[i]!.tag === 'h1' ? '' : ` ${link}`}</${tokens[i]!.tag}>\n`
  }
  rules.fence = (tokens, i) => {
    const { content, info } = tokens[i]!
    return `<div class="code"><pre tabindex="0"><code>${highlight(content.trimEnd(), info.trim())}</code></pre><button type="button" class="copy" hidden>Copy</button></div>\n`
  }
  rules.html_block = (tokens, i) => (tokens[i]!.content.startsWith('<!--') ? '' : tokens[i]!.content)
  // A wide table scrolls by itself, and not the page.
  rules.table_open = () => '<div class="table" role="region" aria-label="Table" tabindex="0"><table>\n'
  rules.table_close = () => '</table></div>\n'

  return (text: string): Rendered => {
    const tokens = markdown.parse(text, {})
    const sections: Section[] = []
    for (const [i, token] of tokens.entries()) {
      if (token.type === 'heading_open') {
        const heading = textOf(tokens[i + 1]!)
        sections.push({ level: Number(token.tag.slice(1)), text: heading, anchor: anchorOf(heading), body: '' })
      } else if (token.type === 'inline' && tokens[i - 1]?.type !== 'heading_open') {
        const section = sections.at(-1)
        if (section) section.body += `${textOf(token)} `
      } else if (token.type === 'fence' && sections.length > 0) sections.at(-1)!.body += `${token.content} `
    }
    const headings = sections.map(({ level, text: heading, anchor }) => ({ level, text: heading, anchor }))
    return { html: markdown.renderer.render(tokens, markdown.options, {}), headings, sections }
  }
}
