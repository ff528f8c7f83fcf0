/**
 * What of the AI SDK a model is asked with. Always imported dynamically, and the SDK through this file alone: its code is
 * then run when a model is first asked, not when an isolate starts, and what is not named here stays out of the bundle.
 */
export { createAnthropic } from '@ai-sdk/anthropic'
export { createOpenAICompatible } from '@ai-sdk/openai-compatible'
export { APICallError, generateText, jsonSchema, NoObjectGeneratedError, NoOutputGeneratedError, Output } from 'ai'
export { createWorkersAI } from 'workers-ai-provider'
