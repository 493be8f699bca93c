// Runs before the page is drawn, so that it never flashes in the other theme. A browser that keeps nothing refuses the store.
try {
  const chosen = localStorage.getItem('theme')
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen
} catch {}
