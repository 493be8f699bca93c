import { Button } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { t } from './t.ts'

/** Says for some seconds that something was done. */
export const say = (message: string) => notifications.show({ message, autoClose: 4_000, closeButtonProps: { 'aria-label': t('Close') } })

/**
 * Says what was done and offers to undo it for 12 s: what can be undone is done at once, without a question before it.
 * `undo` may fail; then it says so.
 */
export function sayWithUndo(message: string, undo: () => Promise<unknown>) {
  const id = notifications.show({
    autoClose: 12_000,
    withCloseButton: true,
    closeButtonProps: { 'aria-label': t('Close') },
    message: (
      <span className="undo">
        {message}
        <Button
          size="compact-sm"
          variant="default"
          onClick={() => {
            notifications.hide(id)
            undo().then(
              () => say(t('Undone')),
              (error: Error) => say(t('It could not be undone: {why}', { why: error.message })),
            )
          }}
        >
          {t('Undo')}
        </Button>
      </span>
    ),
  })
}
