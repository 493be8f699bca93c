import { useState } from 'react'
import { Icon } from './icon.tsx'
import { t } from './t.ts'

/** Copies a text and says so for two seconds. */
export function useCopy(): [copied: boolean, copy: (text: string) => void] {
  const [copied, setCopied] = useState(false)
  const copy = (text: string) =>
    void navigator.clipboard.writeText(text).then(() => {
      setCopied(true)
      setTimeout(() => setCopied(false), 2_000)
    })
  return [copied, copy]
}

/** A text in the letters of code that a click copies. */
export function Copy({ text, shown = text }: { text: string; shown?: string }) {
  const [copied, copy] = useCopy()
  return (
    <button type="button" className="copy" aria-label={t('Copy {text}', { text: shown })} title={text} onClick={() => copy(text)}>
      <code>{shown}</code>
      <Icon name={copied ? 'check' : 'copy'} size={12} />
    </button>
  )
}

/** The beginning and the end of a long id. */
export const shortId = (id: string) => (id.length > 18 ? `${id.slice(0, 9)}…${id.slice(-4)}` : id)

export const Id = ({ children }: { children: string }) => (
  <code className="id" title={children}>
    {shortId(children)}
  </code>
)
