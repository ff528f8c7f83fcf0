/**
 * The parts of the MCP SDK that we use. Import the SDK only through this file, and this file only dynamically. The SDK
 * then loads with the first message instead of at isolate startup. In Workers, the SDK validates with
 * `@cfworker/json-schema`.
 */
export {
  createMcpHandler,
  isLegacyRequest,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
