import './styles/index.css'
import { createTheme, MantineProvider } from '@mantine/core'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { lazy, Suspense } from 'react'
import { createRoot } from 'react-dom/client'
import { client } from './data/client.ts'
import { addRandomUuid } from './data/random-uuid.ts'
import { router } from './router.tsx'

// The page behind stays to be read.
const veil = { backgroundOpacity: 0.22, blur: 0 }

// Nothing is said before the first page is there; what was said until then is shown.
const Notices = lazy(() => import('./parts/notices.tsx'))

const theme = createTheme({
  primaryColor: 'teal',
  defaultRadius: 'md',
  fontFamily: 'inherit',
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    // react-remove-scroll writes a `style` element, which the policy of the page refuses.
    // A click beside a form would lose what is typed.
    Modal: {
      defaultProps: { lockScroll: false, closeOnClickOutside: false, overlayProps: veil, closeButtonProps: { 'aria-label': 'Close' } },
    },
  },
})

addRandomUuid(crypto)

// Before anything is drawn, so that the page's figures are asked for meanwhile.
void router.load()

createRoot(document.getElementById('root')!).render(
  <MantineProvider theme={theme} defaultColorScheme="auto" withCssVariables={false} withGlobalClasses={false}>
    <QueryClientProvider client={client}>
      <RouterProvider router={router} />
      <Suspense>
        <Notices />
      </Suspense>
    </QueryClientProvider>
  </MantineProvider>,
)
