import { loadOnce } from '../domain/load-once.ts'

/** Loads the SDK on first use and turns off its warnings, which would break the JSON log. */
export const loadSdk = loadOnce(() => {
  globalThis.AI_SDK_LOG_WARNINGS = false
  return import('./model-sdk.ts')
})
