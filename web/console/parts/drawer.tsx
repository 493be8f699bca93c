import { type ReactNode, useEffect, useId, useRef } from 'react'
import { createPortal } from 'react-dom'
import { Icon } from './icon.tsx'
import { t } from './t.ts'

const ABOVE = '[data-mantine-stop-propagation=true], [aria-modal=true]'

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
    // *Esc* in a list, a menu or a window above closes that, and what is typed here stays. By the end of the event those are gone.
    let isOfAnother = false
    const look = ({ target }: KeyboardEvent) => {
      isOfAnother = target instanceof Element && target.closest(ABOVE) !== null
    }
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || event.defaultPrevented || isOfAnother) return
      close.current()
    }
    addEventListener('keydown', look, true)
    document.addEventListener('keydown', onKey)
    return () => {
      removeEventListener('keydown', look, true)
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
