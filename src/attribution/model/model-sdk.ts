/**
 * The parts of the AI SDK that we use. Always import this file dynamically, and the SDK only through it: the SDK then
 * runs at the first model call instead of at isolate startup, and unused exports stay out of the bundle.
 */
export { createAnthropic } from '@ai-sdk/anthropic'
export { createOpenAICompatible } from '@ai-sdk/openai-compatible'
export { APICallError, generateText, jsonSchema, NoObjectGeneratedError, NoOutputGeneratedError, Output } from 'ai'
export { createWorkersAI } from 'workers-ai-provider'
