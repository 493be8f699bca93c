import type { Screen } from '../../../../clients/typescript/src/index.ts'
import { DeleteForm } from '../../parts/delete-form.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { t } from '../../parts/t.ts'
import { useGo } from '../../parts/to.tsx'
import { say } from '../../parts/undo.tsx'

export default function DeleteScreen({ screen, denied, onClose }: { screen: Screen; denied: string | undefined; onClose: () => void }) {
  const go = useGo()
  return (
    <Drawer title={t('Delete this screen')} onClose={onClose}>
      <DeleteForm
        operation="v4DeleteScreen"
        input={{ path: { screen_id: screen.id } }}
        id={screen.id}
        denied={denied}
        changes={['v4ListScreens']}
        of={screen}
        onDone={() => {
          say(t('The screen is deleted'))
          go({ to: '/screens' })
        }}
      >
        <p>
          {t(
            'This cannot be undone. Apps that ask for it by its id get nothing any more; its context shows the one that was published before it, if there is one.',
          )}
        </p>
        <p className="soft">{t('What was sold on it stays in the figures, and the audit log keeps its layout.')}</p>
      </DeleteForm>
    </Drawer>
  )
}
