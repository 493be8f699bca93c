// As much of Markdown as our served pages use: headings, paragraphs, lists of one level, tables, code, emphasis, links, and lines that are an anchor.
// What a page uses beyond that would be shown as it stands, and a test looks for it.

/** The anchor that GitHub gives a heading. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

/** A link to another file of the repository is only its text: the service does not serve the file. */
const link = (text: string, target: string) => (target.startsWith('#') ? `<a href="${target}">${text}</a>` : text)

const spans = (text: string): string =>
  text
    .split(/(`[^`]+`)/)
    .map(part =>
      part.startsWith('`') && part.length > 1
        ? `<code>${escaped(part.slice(1, -1))}</code>`
        : escaped(part)
            .replaceAll(/\[([^\]]+)\]\(([^)]+)\)/g, (_, name, target) => link(name, target))
            .replaceAll(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>')
            .replaceAll(/\*([^*]+)\*/g, '<em>$1</em>'),
    )
    .join('')

const cellsOf = (line: string) => line.slice(1, -1).split('|')
const row = (line: string, tag: 'th' | 'td') =>
  `<tr>${cellsOf(line)
    .map(cell => `<${tag}>${spans(cell.trim())}</${tag}>`)
    .join('')}</tr>`

function table([head, , ...rows]: string[]): string {
  return `<table>\n<thead>${row(head!, 'th')}</thead>\n<tbody>\n${rows.map(line => row(line, 'td')).join('\n')}\n</tbody>\n</table>`
}

const heading = (line: string) => {
  const [, marks, text] = /^(#+) (.*)$/.exec(line)!
  return `<h${marks!.length} id="${anchorOf(text!)}">${spans(text!)}</h${marks!.length}>`
}

const list = (block: string) =>
  `<ul>\n${block
    .slice(2)
    .split('\n- ')
    .map(item => `<li>${spans(item.replaceAll(/\n */g, ' '))}</li>`)
    .join('\n')}\n</ul>`

function blockToHtml(block: string): string {
  if (block.startsWith('```')) return `<pre><code>${escaped(block.split('\n').slice(1, -1).join('\n'))}</code></pre>`
  if (block.startsWith('#')) return heading(block)
  if (block.startsWith('|')) return table(block.split('\n'))
  if (block.startsWith('- ')) return list(block)
  const anchor = /^<a id="([\w-]+)"><\/a>$/.exec(block)
  if (anchor) return `<span id="${anchor[1]}"></span>`
  return block.startsWith('<!--') ? '' : `<p>${spans(block.replaceAll('\n', ' '))}</p>`
}

/** The blocks of a page are set apart by empty lines, except inside code. */
const blocksOf = (markdown: string) => markdown.match(/```[\s\S]*?\n```|[^\n](?:(?!\n\n|\n```)[\s\S])*/g) ?? []

export const htmlOf = (markdown: string): string =>
  blocksOf(markdown)
    .map(blockToHtml)
    .filter(html => html !== '')
    .join('\n')
