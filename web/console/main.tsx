import './styles/index.css'
import { createTheme, MantineProvider } from '@mantine/core'
import { Notifications } from '@mantine/notifications'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { createRoot } from 'react-dom/client'
import { client } from './data/client.ts'
import { router } from './router.tsx'

const theme = createTheme({
  primaryColor: 'teal',
  defaultRadius: 'md',
  fontFamily: 'inherit',
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    // react-remove-scroll writes a `style` element, which the policy of the page refuses.
    Modal: { defaultProps: { lockScroll: false, closeButtonProps: { 'aria-label': 'Close' } } },
    Drawer: { defaultProps: { lockScroll: false, closeButtonProps: { 'aria-label': 'Close' } } },
  },
})

createRoot(document.getElementById('root')!).render(
  <MantineProvider theme={theme} defaultColorScheme="auto" withCssVariables={false} withGlobalClasses={false}>
    <QueryClientProvider client={client}>
      <RouterProvider router={router} />
      <Notifications position="bottom-right" />
    </QueryClientProvider>
  </MantineProvider>,
)
