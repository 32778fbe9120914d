// Before the first paint, so that a dark screen never flashes white.
try {
  const wish = localStorage.getItem('jobbie.theme')
  if (wish === 'light' || wish === 'dark') document.documentElement.dataset.theme = wish
} catch {
  // Without storage the system decides.
}
