// Runs before the first paint, so that a dark page never flashes white. A file, because the policy forbids inline scripts.
const kept = localStorage.getItem('mantine-color-scheme-value') ?? 'auto'
const system = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'
document.documentElement.setAttribute('data-mantine-color-scheme', kept === 'auto' ? system : kept)
