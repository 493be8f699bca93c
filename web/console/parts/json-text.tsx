import './json-text.css'
import { useCopy } from './copy.tsx'
import { Icon } from './icon.tsx'
import { t } from './t.ts'

/** Marks that turn round what stands behind them on their line. */
const TURNING = /[\u202A-\u202E\u2066-\u2069]/g

/** JSON to read: marks that would turn its lines round are written as their numbers, which is the same JSON. */
export const readable = (value: unknown): string =>
  (JSON.stringify(value, undefined, 2) ?? '').replaceAll(TURNING, mark => `\\u${mark.charCodeAt(0).toString(16)}`)

/** A value as JSON, to read and to copy. `name`: where a page has several. */
export function JsonText({ value, name = t('JSON') }: { value: unknown; name?: string }) {
  const text = readable(value)
  const [copied, copy] = useCopy()
  return (
    <section className="json-text" aria-label={name}>
      <button type="button" className="chip" onClick={() => copy(text)}>
        <Icon name={copied ? 'check' : 'copy'} size={12} />
        {copied ? t('Copied') : t('Copy')}
      </button>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be scrolled with the keyboard */}
      <pre tabIndex={0}>{text}</pre>
    </section>
  )
}
