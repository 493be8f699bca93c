window.SwaggerUIBundle({
  url: window.location.pathname === '/docs/v3' ? '/v3/openapi.json' : '/v4/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  displayRequestDuration: true,
  docExpansion: 'list',
  persistAuthorization: false,
  validatorUrl: null,
})
