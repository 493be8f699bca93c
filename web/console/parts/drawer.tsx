import { type ReactNode, useEffect, useId, useRef } from 'react'
import { createPortal } from 'react-dom'
import { Icon } from './icon.tsx'
import { t } from './t.ts'

/**
 * A panel at the right edge. The page behind stays usable, so the focus is not trapped: it goes into the panel when it opens and back to
 * where it was when *Esc* or the button closes it. Show it while the address says so (`at=…`), so that a link opens it.
 */
export function Drawer({ title, onClose, children }: { title: ReactNode; onClose: () => void; children: ReactNode }) {
  const panel = useRef<HTMLDivElement>(null)
  const name = useId()
  const close = useRef(onClose)
  close.current = onClose
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null
    panel.current?.focus()
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || event.defaultPrevented) return
      close.current()
    }
    document.addEventListener('keydown', onKey)
    return () => {
      document.removeEventListener('keydown', onKey)
      if (panel.current === null || panel.current.contains(document.activeElement) || document.activeElement === document.body)
        before?.focus({ preventScroll: true })
    }
  }, [])
  return createPortal(
    <>
      <div className="veil" aria-hidden="true" />
      <div ref={panel} className="drawer" role="dialog" aria-labelledby={name} tabIndex={-1}>
        <div className="drawer-head">
          <h2 id={name}>{title}</h2>
          <button type="button" className="icon-button" aria-label={t('Close')} onClick={onClose}>
            <Icon name="close" />
          </button>
        </div>
        <div className="drawer-body">{children}</div>
      </div>
    </>,
    document.body,
  )
}
