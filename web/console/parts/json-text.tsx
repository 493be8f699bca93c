import './json-text.css'
import { useCopy } from './copy.tsx'
import { Icon } from './icon.tsx'
import { t } from './t.ts'

/** A value as JSON, to read and to copy. `name`: where a page has several. */
export function JsonText({ value, name = t('JSON') }: { value: unknown; name?: string }) {
  const text = JSON.stringify(value, undefined, 2)
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
