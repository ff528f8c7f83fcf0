import { MockLanguageModelV3 } from 'ai/test'

const usage = {
  inputTokens: { total: 42, noCache: 35, cacheRead: 7, cacheWrite: 0 },
  outputTokens: { total: 9, text: 6, reasoning: 3 },
}
const call = (toolCallId, toolName, input) => ({
  type: 'tool-call',
  toolCallId,
  toolName,
  input: JSON.stringify(input),
})
const answers = [
  {
    finish: 'tool-calls',
    content: [call('call_1', 'getOrder', { order: 7 }), call('call_2', 'findDocuments', { query: 'warranty' })],
  },
  { finish: 'stop', content: [{ type: 'text', text: 'It ends on 15 January 2028.' }] },
]

/** Asks for both tools, then answers. */
export const model = new MockLanguageModelV3({
  provider: 'openai.chat',
  modelId: 'gpt-4.1-mini',
  doGenerate: async () => {
    const { finish, content } = answers.shift()
    return {
      content,
      usage,
      finishReason: { unified: finish, raw: finish },
      response: { id: 'response_1', modelId: 'gpt-4.1-mini-2025-04-14', timestamp: new Date(0) },
      warnings: [],
    }
  },
})
