/**
 * The parts of the AI SDK that we use. Import the SDK only through this file, and this file only through load-sdk.ts.
 * The SDK then loads on the first model call instead of at isolate startup, and unused exports stay out of the bundle.
 */
export { createAnthropic } from '@ai-sdk/anthropic'
export { createOpenAICompatible } from '@ai-sdk/openai-compatible'
export { APICallError, generateText, jsonSchema, NoObjectGeneratedError, NoOutputGeneratedError, Output } from 'ai'
export { createWorkersAI } from 'workers-ai-provider'
