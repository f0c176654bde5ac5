// Pitfall: what a visitor sends becomes a part of the page
//
// The page greets its visitor by the name in the query. Somebody sends other people a link to it in which the name is a
// script ("%3C" is how a browser writes "<" there). Their browsers execute it as if the page's author had written it:
// it may read what they type, and act in their names (cross-site scripting).
//
// Compile: g++ -std=c++20 -O2 chapters/07_cloud/web_application/web_application_script.cpp -o web_application_script
// Run:     web_application_script
// Symptom: exit 1, prints "the page has a script that its author has not written"

#include <cstdio>

#include "routes.hpp"

int main() {
  Routes routes;
  routes["/hello"][http::verb::get] = [](const Request& request, Response& response) {
    response.body() = "<p>Hello " + query(request, "name") + "!</p>";  // wrong: the name as it came
  };

  for (const char* name : {"Ada", "O'Neill", "Ada%3Cscript%3Esteal()%3C/script%3E"}) {
    const Response response = answer(routes, {http::verb::get, "/hello?name=" + std::string(name), 11, ""});
    std::printf("%s\n", response.body().c_str());
    if (response.body().find("<script>") != std::string::npos) {
      std::puts("the page has a script that its author has not written");
      return 1;
    }
  }
  return 0;
}
