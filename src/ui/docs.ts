// Zod, within Scalar, tries whether it may `eval` as it loads, and the page's CSP would report that.
Object.assign(globalThis, { __zod_globalConfig: { jitless: true } })
const { createApiReference } = await import('@scalar/api-reference')

createApiReference('#docs', {
  url: '/openapi.json',
  authentication: { preferredSecurityScheme: 'apiKey' },
  operationTitleSource: 'path',
  // All that would load from elsewhere or send there. On localhost some of it is on by default.
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: 'never',
  hideClientButton: true,
})
