import { useEffect, useRef } from 'react'
import { useCopy } from '../../parts/copy.tsx'
import { Icon } from '../../parts/icon.tsx'
import { t } from '../../parts/t.ts'
import { type Kind, piecesOf, type Role } from './markup.ts'

/** A source as one text that the browser colours: no element is made of what stands in it, however long it is. */
export function Source({ text, kind }: { text: string; kind: Kind }) {
  const shown = useRef<HTMLPreElement>(null)
  const [copied, copy] = useCopy()
  useEffect(() => colour(shown.current?.firstChild, text, kind), [text, kind])
  return (
    <section className="source" aria-label={kind === 'json' ? t('JSON') : t('HTML')}>
      <button type="button" className="chip small" onClick={() => copy(text)}>
        <Icon name={copied ? 'check' : 'copy'} size={12} />
        {copied ? t('Copied') : t('Copy')}
      </button>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled with the keyboard */}
      <pre ref={shown} tabIndex={0} dir="ltr">
        {text}
      </pre>
    </section>
  )
}

/** Ranges of a text get the colour of their role; returns what takes them away again. A browser without such ranges shows the plain text. */
function colour(node: ChildNode | null | undefined, text: string, kind: Kind): (() => void) | undefined {
  if (!node || typeof Highlight === 'undefined') return undefined
  const mine = piecesOf(text, kind).map(({ from, to, role }) => {
    const range = new StaticRange({ startContainer: node, startOffset: from, endContainer: node, endOffset: to })
    registered(role).add(range)
    return { role, range }
  })
  return () => {
    for (const { role, range } of mine) registered(role).delete(range)
  }
}

function registered(role: Role): Highlight {
  const name = `source-${role}`
  const known = CSS.highlights.get(name)
  if (known) return known
  const made = new Highlight()
  CSS.highlights.set(name, made)
  return made
}
